using System.Buffers.Binary;

namespace Freehold.Tool.Dumps;

/// <summary>Finds the end of a dump that comes in parts, by the lengths of its frames.</summary>
internal sealed class DumpEnd
{
    private const int FrameHeaderSize = 8;

    private readonly byte[] _header = new byte[FrameHeaderSize];
    private int _known;

    // First the header of the file; then the payload of a frame.
    private long _left = DumpFrames.HeaderSize;

    /// <summary>Whether the last frame was there.</summary>
    public bool IsReached { get; private set; }

    /// <exception cref="ToolException">Something follows the last frame.</exception>
    public void Take(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length != 0)
        {
            if (IsReached)
            {
                throw new ToolException("what the process has sent is no dump: something follows behind its end.");
            }

            if (_left != 0)
            {
                int some = (int)Math.Min(_left, bytes.Length);
                _left -= some;
                bytes = bytes[some..];
                continue;
            }

            int more = Math.Min(FrameHeaderSize - _known, bytes.Length);
            bytes[..more].CopyTo(_header.AsSpan(_known));
            _known += more;
            bytes = bytes[more..];
            if (_known == FrameHeaderSize)
            {
                _known = 0;
                _left = BinaryPrimitives.ReadUInt32LittleEndian(_header);
                IsReached = _left == 0;
            }
        }
    }
}
