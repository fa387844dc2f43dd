namespace DocumentIndex;

/// <summary>
/// Makes the next version of a text: some words are dropped, some doubled, some replaced, and the revision is noted.
/// The result depends only on the text, the member and the version.
/// </summary>
internal static class Editor
{
    /// <summary>How much longer than the old text the new one can be: each byte doubled, and the note.</summary>
    public static int MaximumLength(int length) => (length * 2) + 64;

    public static ReadOnlySpan<byte> Edit(ReadOnlySpan<byte> text, int member, int version, Span<byte> buffer)
    {
        var random = new Random64(((ulong)member << 32) | (uint)version);
        var length = 0;
        var position = 0;
        var note = text.LastIndexOf(" revision "u8);
        text = note < 0 ? text : text[..note];
        while (position < text.Length)
        {
            var start = position;
            while (position < text.Length && !Tokenizer.IsLetter(text[position]))
            {
                position++;
            }

            Append(text[start..position], buffer, ref length);
            start = position;
            while (position < text.Length && Tokenizer.IsLetter(text[position]))
            {
                position++;
            }

            var word = text[start..position];
            switch (random.Next(64))
            {
                case 0:
                    break;
                case 1:
                    Append(word, buffer, ref length);
                    if (word.Length > 1 && length < text.Length)
                    {
                        Append(" "u8, buffer, ref length);
                        Append(word[..^1], buffer, ref length);
                    }

                    break;
                case 2:
                    Append(word.Length > 7 ? "specified"u8 : "new"u8, buffer, ref length);
                    break;
                default:
                    Append(word, buffer, ref length);
                    break;
            }
        }

        Append(" revision "u8, buffer, ref length);
        version.TryFormat(buffer[length..], out var digits);
        length += digits;
        return buffer[..length];
    }

    private static void Append(ReadOnlySpan<byte> text, Span<byte> buffer, ref int length)
    {
        text.CopyTo(buffer[length..]);
        length += text.Length;
    }
}
