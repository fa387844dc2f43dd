using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Text encodings, their fallbacks, decoders fed in pieces, runes and UTF-8 literals.</summary>
internal static partial class Encodings
{
    public static void Run()
    {
        var builder = new StringBuilder();
        for (int i = 0; i < 20_000; i++)
            builder.Append(new Rune(i % 50 == 0 ? 0x1F600 + i % 40 : i % 7 == 0 ? 0x4E00 + i : 0x20 + i % 0x180));
        string text = builder.ToString();
        foreach (Encoding encoding in new[] { Encoding.UTF8, Encoding.Unicode, Encoding.BigEndianUnicode, Encoding.UTF32, Encoding.ASCII, Encoding.Latin1 })
        {
            byte[] bytes = encoding.GetBytes(text);
            var sum = new Checksum();
            sum.Add(bytes);
            Decoder decoder = encoding.GetDecoder();
            var back = new StringBuilder();
            char[] characters = new char[100];
            for (int i = 0; i < bytes.Length; i += 17)
            {
                int count = decoder.GetChars(bytes.AsSpan(i, Math.Min(17, bytes.Length - i)), characters, flush: i + 17 >= bytes.Length);
                back.Append(characters, 0, count);
            }
            Console.WriteLine($"{encoding.WebName} {bytes.Length} {sum} {back.Equals(text)} {back.Length}");
        }
        Console.WriteLine(Encoding.UTF8.GetString([0x41, 0xC3, 0x28, 0xF0, 0x9F, 0x42]).Select(character => (int)character).Sum());
        try
        {
            new UTF8Encoding(false, true).GetBytes("\uD800");
        }
        catch (EncoderFallbackException exception)
        {
            Console.WriteLine((int)exception.CharUnknown);
        }
        int letters = 0;
        foreach (Rune rune in text.EnumerateRunes())
            letters += Rune.IsLetter(rune) ? 1 : 0;
        Console.WriteLine(letters);
        Console.WriteLine("utf8 \u00fc"u8.Length + " " + Encoding.ASCII.GetString(Encoding.ASCII.GetBytes("na\u00efve")) + " " + Ascii.IsValid("plain") + " " + Encoding.UTF8.GetPreamble().Length);
        Console.WriteLine(Encoding.GetEncoding("us-ascii", new EncoderReplacementFallback("[?]"), DecoderFallback.ReplacementFallback).GetString(Encoding.GetEncoding("us-ascii", new EncoderReplacementFallback("[?]"), DecoderFallback.ReplacementFallback).GetBytes("x\u4e2dy")));
    }
}
