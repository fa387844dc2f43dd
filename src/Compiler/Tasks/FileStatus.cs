using System;
using System.Buffers.Binary;
using System.Runtime.InteropServices;

namespace Freehold.Tasks;

/// <summary>What the kernel knows of a file beside what .NET tells.</summary>
internal static partial class FileStatus
{
    private const int CurrentFolder = -100;        // AT_FDCWD
    private const uint ChangeTime = 0x80;          // STATX_CTIME
    private const int SizeOfStatus = 256, PlaceOfMask = 0, PlaceOfChangeTime = 96;  // struct statx, the same for every processor

    /// <summary>When a file was written to, renamed or given other times last, by the kernel's clock. Of one that is not there, later than any time: it has just gone.</summary>
    public static (long Seconds, uint Nanoseconds) ChangedAt(string path)
    {
        Span<byte> status = stackalloc byte[SizeOfStatus];
        if (StatX(CurrentFolder, path, 0, ChangeTime, ref MemoryMarshal.GetReference(status)) != 0 || (BinaryPrimitives.ReadUInt32LittleEndian(status[PlaceOfMask..]) & ChangeTime) == 0)
        {
            return (long.MaxValue, 0);
        }

        return (BinaryPrimitives.ReadInt64LittleEndian(status[PlaceOfChangeTime..]), BinaryPrimitives.ReadUInt32LittleEndian(status[(PlaceOfChangeTime + sizeof(long))..]));
    }

    [LibraryImport("libc", EntryPoint = "statx", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int StatX(int folder, string path, int flags, uint mask, ref byte status);
}
