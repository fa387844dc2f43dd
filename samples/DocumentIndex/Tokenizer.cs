namespace DocumentIndex;

/// <summary>
/// Splits UTF-8 text into words: runs of letters and digits, lower case, at most <see cref="MaximumLength"/> bytes;
/// bytes above 127 count as letters, words of one byte are skipped.
/// </summary>
internal ref struct Tokenizer
{
    public const int MaximumLength = 64;

    private readonly ReadOnlySpan<byte> _text;
    private readonly Span<byte> _buffer;
    private int _position;

    public Tokenizer(ReadOnlySpan<byte> text, Span<byte> buffer)
    {
        _text = text;
        _buffer = buffer;
    }

    /// <summary>The next word, or an empty span at the end. It stays valid until the next call.</summary>
    public ReadOnlySpan<byte> Next()
    {
        var text = _text;
        while (true)
        {
            while (_position < text.Length && !IsLetter(text[_position]))
            {
                _position++;
            }

            var length = 0;
            while (_position < text.Length && IsLetter(text[_position]))
            {
                if (length < MaximumLength)
                {
                    var b = text[_position];
                    _buffer[length++] = b is >= (byte)'A' and <= (byte)'Z' ? (byte)(b | 0x20) : b;
                }

                _position++;
            }

            if (length != 1)
            {
                return _buffer[..length];
            }
        }
    }

    public static bool IsLetter(byte b) => char.IsAsciiLetterOrDigit((char)b) || b >= 128;
}
