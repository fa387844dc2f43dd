using System.Buffers.Binary;

namespace Freehold.Tool.Protocol;

/// <summary>
/// The 16 bytes before a request and before an answer, little-endian (src/Allocator/diag/diagnostic_socket.h has the same): "FHDG"; 2 bytes of version; 2 of command or status; 8 of the number
/// of bytes that follow.
/// </summary>
internal readonly record struct Frame(ushort Version, ushort Code, ulong Length)
{
    public const int Size = 16;
    public const ushort CurrentVersion = 1;

    /// <summary>As <see cref="Length"/> of an answer: a stream follows that says itself where it ends.</summary>
    public const ulong Streamed = ulong.MaxValue;

    private static ReadOnlySpan<byte> Magic => "FHDG"u8;

    public static Frame Request(Command command) => new(CurrentVersion, (ushort)command, 0);

    public byte[] ToBytes()
    {
        byte[] bytes = new byte[Size];
        Magic.CopyTo(bytes);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(4), Version);
        BinaryPrimitives.WriteUInt16LittleEndian(bytes.AsSpan(6), Code);
        BinaryPrimitives.WriteUInt64LittleEndian(bytes.AsSpan(8), Length);
        return bytes;
    }

    /// <exception cref="ToolException">These are no bytes of a frame, or of one of another version.</exception>
    public static Frame Parse(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length < Size || !bytes.StartsWith(Magic))
        {
            throw new ToolException("the process answers something else than the protocol of Freehold.");
        }

        var frame = new Frame(BinaryPrimitives.ReadUInt16LittleEndian(bytes[4..]), BinaryPrimitives.ReadUInt16LittleEndian(bytes[6..]), BinaryPrimitives.ReadUInt64LittleEndian(bytes[8..]));
        return frame.Version == CurrentVersion
            ? frame
            : throw new ToolException($"the process answers in version {frame.Version} of the protocol; this tool speaks version {CurrentVersion}. Use the tool of the version that the program was published with.");
    }
}
