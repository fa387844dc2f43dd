namespace DocumentIndex;

/// <summary>Lines of text to a standard stream, through one buffer.</summary>
internal sealed class Output(Stream stream)
{
    private readonly byte[] _buffer = new byte[1 << 16];
    private int _length;

    public Output Text(ReadOnlySpan<byte> text)
    {
        if (_length + text.Length > _buffer.Length)
        {
            Flush();
        }

        text.CopyTo(_buffer.AsSpan(_length));
        _length += text.Length;
        return this;
    }

    public Output Number<T>(T value, ReadOnlySpan<char> format = default)
        where T : IUtf8SpanFormattable
    {
        Span<byte> text = stackalloc byte[64];
        value.TryFormat(text, out var length, format, System.Globalization.CultureInfo.InvariantCulture);
        return Text(text[..length]);
    }

    public Output EndLine() => Text("\n"u8);

    public void Flush()
    {
        stream.Write(_buffer, 0, _length);
        stream.Flush();
        _length = 0;
    }
}
