using System.Globalization;
using System.Text;

namespace System;

/// <summary>Writes JSON: what the diagnostics socket needs of it, so that no program has a library for it.</summary>
internal sealed class JsonText
{
    private readonly StringBuilder _text = new();
    private bool _needsComma;

    internal JsonText Begin(char bracket)
    {
        Separate();
        _text.Append(bracket);
        _needsComma = false;
        return this;
    }

    internal JsonText End(char bracket)
    {
        _text.Append(bracket);
        _needsComma = true;
        return this;
    }

    internal JsonText Name(string name)
    {
        Value(name);
        _text.Append(':');
        _needsComma = false;
        return this;
    }

    internal JsonText Value(long number)
    {
        Separate();
        _text.Append(CultureInfo.InvariantCulture, $"{number}");
        return this;
    }

    internal JsonText Value(bool value)
    {
        Separate();
        _text.Append(value ? "true" : "false");
        return this;
    }

    internal JsonText Value(string text)
    {
        Separate();
        _text.Append('"');
        foreach (char next in text)
        {
            if (next is '"' or '\\')
            {
                _text.Append('\\').Append(next);
            }
            else if (next < ' ' || char.IsSurrogate(next))
            {
                _text.Append(CultureInfo.InvariantCulture, $"\\u{(int)next:x4}");
            }
            else
            {
                _text.Append(next);
            }
        }

        _text.Append('"');
        return this;
    }

    /// <summary>UTF-8.</summary>
    internal byte[] ToBytes() => Encoding.UTF8.GetBytes(_text.ToString());

    /// <summary>UTF-8 of what has been written since the last time: what follows goes on behind it.</summary>
    internal byte[] TakeBytes()
    {
        byte[] bytes = ToBytes();
        _text.Clear();
        return bytes;
    }

    private void Separate()
    {
        if (_needsComma)
        {
            _text.Append(',');
        }

        _needsComma = true;
    }
}
