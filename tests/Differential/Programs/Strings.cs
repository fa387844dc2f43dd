using System.Globalization;

namespace Freehold.Differential.Programs;

/// <summary>The operations of System.String over generated text.</summary>
internal static partial class Strings
{
    public static void Run()
    {
        var random = new Random(5);
        string[] words = [.. Enumerable.Range(0, 2_000).Select(_ => Word(random))];
        string text = string.Join(' ', words);
        var sum = new Checksum();
        foreach (string part in text.Split(' ', StringSplitOptions.RemoveEmptyEntries))
            sum.Add(part.ToUpperInvariant().PadLeft(12, '*').Trim('*'));
        Console.WriteLine($"{text.Length} {sum}");
        string current = text;
        for (int i = 0; i < 40; i++)
        {
            current = current.Replace(((char)('a' + i % 26)).ToString(), i % 2 == 0 ? "" : "zy");
            current = current.Insert(i, "<>").Remove(i + 1, 1);
            sum.Add(current);
        }
        Console.WriteLine($"{current.Length} {sum}");
        Console.WriteLine(text.IndexOf("zz", StringComparison.Ordinal) + " " + text.LastIndexOf('q') + " " + text.Contains("the", StringComparison.OrdinalIgnoreCase));
        Console.WriteLine(string.Compare("apple", "Apple", StringComparison.OrdinalIgnoreCase) + " " + Math.Sign(string.CompareOrdinal("b", "a")));
        Array.Sort(words, StringComparer.Ordinal);
        Console.WriteLine(string.Join(',', words.Take(20)));
        Console.WriteLine(string.Concat(words.Take(9).Reverse()).Substring(5, 20) + "|" + new string('=', 7) + "|" + "a\tb\r\nc".ReplaceLineEndings("~"));
        Console.WriteLine(string.Create(26, 3, static (span, step) =>
        {
            for (int i = 0; i < span.Length; i++)
                span[i] = (char)('a' + i * step % 26);
        }));
        Console.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0,-10}|{1,10:F3}|{2:X8}|{{}}", "left", Math.PI, 48_879));
        Console.WriteLine("é̂ normal".Normalize().Length + " " + "ÀÉ".ToLowerInvariant() + " " + new StringInfo("a\u0301bc").LengthInTextElements);
    }

    private static string Word(Random random)
    {
        Span<char> buffer = stackalloc char[random.Next(1, 12)];
        foreach (ref char character in buffer)
            character = (char)('a' + random.Next(26));
        return new string(buffer);
    }
}
