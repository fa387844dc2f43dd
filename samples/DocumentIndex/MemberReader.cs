namespace DocumentIndex;

/// <summary>
/// Reads the <c>member</c> elements of an XML documentation file, without building a tree: the name, and the text with the
/// tags replaced by what they refer to (<c>cref</c>, <c>name</c>, <c>langword</c>) and white space collapsed.
/// </summary>
internal ref struct MemberReader
{
    private readonly ReadOnlySpan<byte> _xml;
    private int _position;

    public MemberReader(ReadOnlySpan<byte> xml) => _xml = xml;

    /// <summary>
    /// Reads the next member; its text is written to <paramref name="buffer"/>, which must be as long as the file.
    /// </summary>
    public bool Next(Span<byte> buffer, out ReadOnlySpan<byte> name, out ReadOnlySpan<byte> text)
    {
        name = default;
        text = default;
        var rest = _xml[_position..];
        var start = rest.IndexOf("<member name=\""u8);
        if (start < 0)
        {
            return false;
        }

        rest = rest[(start + "<member name=\""u8.Length)..];
        var quote = rest.IndexOf((byte)'"');
        name = rest[..quote];
        rest = rest[quote..];
        var open = rest.IndexOf((byte)'>');
        var end = rest[open - 1] == (byte)'/' ? open + 1 : rest.IndexOf("</member>"u8);
        if (end < 0)
        {
            end = rest.Length;
        }

        var length = 0;
        AppendName(name, buffer, ref length);
        AppendText(rest[(open + 1)..Math.Max(end, open + 1)], buffer, ref length);
        text = buffer[..length];
        _position = _xml.Length - rest.Length + end;
        return true;
    }

    private static void AppendName(ReadOnlySpan<byte> name, Span<byte> buffer, ref int length)
    {
        name.CopyTo(buffer[length..]);
        length += name.Length;
    }

    private static void AppendText(ReadOnlySpan<byte> xml, Span<byte> buffer, ref int length)
    {
        while (!xml.IsEmpty)
        {
            var b = xml[0];
            if (b == (byte)'<')
            {
                var end = xml.IndexOf((byte)'>');
                var tag = end < 0 ? xml : xml[..end];
                AppendAttributes(tag, buffer, ref length);
                xml = end < 0 ? default : xml[(end + 1)..];
            }
            else if (b == (byte)'&')
            {
                var end = xml.IndexOf((byte)';');
                Append(Entity(end < 0 ? xml : xml[..end]), buffer, ref length);
                xml = end < 0 ? default : xml[(end + 1)..];
            }
            else
            {
                Append(b, buffer, ref length);
                xml = xml[1..];
            }
        }
    }

    /// <summary>The values of a tag's attributes are words too: references to types, parameters and keywords.</summary>
    private static void AppendAttributes(ReadOnlySpan<byte> tag, Span<byte> buffer, ref int length)
    {
        while (true)
        {
            var start = tag.IndexOf((byte)'"');
            if (start < 0)
            {
                break;
            }

            tag = tag[(start + 1)..];
            var end = tag.IndexOf((byte)'"');
            if (end < 0)
            {
                break;
            }

            Append((byte)' ', buffer, ref length);
            foreach (var b in tag[..end])
            {
                Append(b, buffer, ref length);
            }

            tag = tag[(end + 1)..];
        }

        Append((byte)' ', buffer, ref length);
    }

    private static byte Entity(ReadOnlySpan<byte> entity) => entity switch
    {
        _ when entity.SequenceEqual("&lt"u8) => (byte)'<',
        _ when entity.SequenceEqual("&gt"u8) => (byte)'>',
        _ when entity.SequenceEqual("&amp"u8) => (byte)'&',
        _ when entity.SequenceEqual("&quot"u8) => (byte)'"',
        _ when entity.SequenceEqual("&apos"u8) => (byte)'\'',
        _ => (byte)' ',
    };

    private static void Append(byte b, Span<byte> buffer, ref int length)
    {
        if (b > (byte)' ')
        {
            buffer[length++] = b;
        }
        else if (buffer[length - 1] != (byte)' ')
        {
            buffer[length++] = (byte)' ';
        }
    }
}
