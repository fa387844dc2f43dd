using System.Buffers.Binary;

namespace Freehold.Tool.Dumps;

/// <summary>
/// The outer layer of a dump: a header of 16 bytes, then frames with checksums, of which the last is empty (src/Allocator/diag/dump_stream.h). Their payloads behind each other are one stream of bytes,
/// the records.
/// </summary>
internal sealed class DumpFrames(Stream input, string name)
{
    public const int HeaderSize = 16;
    public const uint CurrentVersion = 1;
    private const int FrameHeaderSize = 8;

    // More is none of ours: the process has frames of 64 KB.
    private const int MostBytes = 1 << 20;

    private byte[] _payload = new byte[1 << 16];
    private int _length;
    private int _next;
    private long _offset;
    private bool _ended;

    public static ReadOnlySpan<byte> Magic => "FHDUMP\r\n"u8;

    /// <summary>The position in the file, for messages.</summary>
    public long Position => _offset - (_length - _next);

    /// <exception cref="ToolException">This is no dump, or one of another version.</exception>
    public void ReadHeader()
    {
        byte[] header = new byte[HeaderSize];
        int got = Fill(header);
        if (got < HeaderSize || !header.AsSpan().StartsWith(Magic))
        {
            throw new ToolException($"{name} is no dump of a heap: it does not begin as one. 'freehold dump PID' makes one.");
        }

        uint version = BinaryPrimitives.ReadUInt32LittleEndian(header.AsSpan(8));
        if (version != CurrentVersion)
        {
            throw new ToolException($"{name} is a dump in version {version} of the format; this tool reads version {CurrentVersion}. Use the tool of the version that the program was published with.");
        }
    }

    public byte ReadByte()
    {
        if (_next == _length)
        {
            NextFrame();
        }

        return _payload[_next++];
    }

    public ulong ReadNumber()
    {
        ulong value = 0;
        for (int shift = 0; shift < 64; shift += 7)
        {
            byte next = ReadByte();
            value |= (ulong)(next & 0x7f) << shift;
            if (next < 0x80)
            {
                return shift == 63 && next > 1 ? throw Damaged("a number has more than 64 bits") : value;
            }
        }

        throw Damaged("a number has more than 64 bits");
    }

    public long ReadDifference()
    {
        ulong value = ReadNumber();
        return (long)(value >> 1) ^ -(long)(value & 1);
    }

    public void ReadBytes(Span<byte> bytes)
    {
        while (bytes.Length != 0)
        {
            if (_next == _length)
            {
                NextFrame();
            }

            int some = Math.Min(bytes.Length, _length - _next);
            _payload.AsSpan(_next, some).CopyTo(bytes);
            _next += some;
            bytes = bytes[some..];
        }
    }

    /// <exception cref="ToolException">Something follows.</exception>
    public void ExpectEnd()
    {
        if (_next != _length)
        {
            throw Damaged("records follow behind the last one");
        }

        if (!_ended && TryReadFrame())
        {
            throw Damaged("records follow behind the last one");
        }

        if (input.ReadByte() >= 0)
        {
            throw Damaged("something follows behind its end");
        }
    }

    /// <summary>Looks at the frames alone: whether the dump is whole.</summary>
    /// <exception cref="ToolException">It is not.</exception>
    public void CheckAll()
    {
        ReadHeader();
        while (TryReadFrame())
        {
        }

        ExpectEnd();
    }

    public ToolException Damaged(string what) => new($"{name} is damaged at byte {Position}: {what}.");

    private void NextFrame()
    {
        if (_ended || !TryReadFrame())
        {
            throw Damaged("it ends before its last record");
        }
    }

    // False: the last one.
    private bool TryReadFrame()
    {
        Span<byte> header = stackalloc byte[FrameHeaderSize];
        _next = _length = 0;
        if (Fill(header) < FrameHeaderSize)
        {
            throw Damaged("it was cut off: the process may have ended while it wrote");
        }

        uint length = BinaryPrimitives.ReadUInt32LittleEndian(header), sum = BinaryPrimitives.ReadUInt32LittleEndian(header[4..]);
        if (length > MostBytes)
        {
            throw Damaged($"a frame of {length} bytes cannot be");
        }

        if (length == 0)
        {
            _ended = true;
            return sum == 0 ? false : throw Damaged("the checksum of the last frame is wrong");
        }

        if (_payload.Length < length)
        {
            _payload = new byte[length];
        }

        if (Fill(_payload.AsSpan(0, (int)length)) < length)
        {
            throw Damaged("it was cut off: the process may have ended while it wrote");
        }

        if (Checksum.Of(_payload.AsSpan(0, (int)length)) != sum)
        {
            throw Damaged("the checksum of a frame is wrong");
        }

        _length = (int)length;
        return true;
    }

    private int Fill(Span<byte> bytes)
    {
        int got = input.ReadAtLeast(bytes, bytes.Length, throwOnEndOfStream: false);
        _offset += got;
        return got;
    }
}
