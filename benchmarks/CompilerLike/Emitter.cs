using System.Buffers.Binary;
using System.Text;

namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Writes the bound tree as code of a stack machine: parts first, then the operation with the numbers of its symbol and text.</summary>
internal sealed class Emitter
{
    private readonly Dictionary<Symbol, int> _symbols = [];
    private readonly Dictionary<string, int> _texts = new(StringComparer.Ordinal);
    private readonly List<byte> _code = [];

    public void Emit(BoundNode node)
    {
        foreach (var part in node.Parts)
        {
            Emit(part);
        }

        _code.Add((byte)node.Operation);
        Write(node.Parts.Length);
        if (node.Symbol is { } symbol)
        {
            if (!_symbols.TryGetValue(symbol, out var number))
            {
                _symbols.Add(symbol, number = _symbols.Count);
                _code.Add((byte)symbol.Kind);
                Write(TextOf(symbol.Name));
            }

            Write(number);
        }

        if (node.Text is { } text)
        {
            Write(TextOf(text));
        }
    }

    /// <summary>The texts, then the code.</summary>
    public byte[] Finish()
    {
        var texts = new MemoryStream();
        foreach (var text in _texts.Keys)
        {
            texts.Write(Encoding.UTF8.GetBytes(text));
            texts.WriteByte(0);
        }

        var image = new byte[8 + texts.Length + _code.Count];
        BinaryPrimitives.WriteInt32LittleEndian(image, _texts.Count);
        BinaryPrimitives.WriteInt32LittleEndian(image.AsSpan(4), _symbols.Count);
        texts.GetBuffer().AsSpan(0, (int)texts.Length).CopyTo(image.AsSpan(8));
        _code.CopyTo(image, 8 + (int)texts.Length);
        return image;
    }

    private int TextOf(string text)
    {
        if (!_texts.TryGetValue(text, out var number))
        {
            _texts.Add(text, number = _texts.Count);
        }

        return number;
    }

    private void Write(int number)
    {
        for (; number >= 0x80; number >>= 7)
        {
            _code.Add((byte)(number | 0x80));
        }

        _code.Add((byte)number);
    }
}
