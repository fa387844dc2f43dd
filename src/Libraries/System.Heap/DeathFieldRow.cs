using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>DeathFieldRow</c> in heap/death_table.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct DeathFieldRow
{
    internal const int Most = 1 << 14;

    internal readonly nint Type;
    internal readonly long Offset;
    internal readonly long Objects;
    internal readonly long Held;
    internal readonly long Shared;
    internal readonly long Died;
    internal readonly long Survived;
    internal readonly long Replaced;
    internal readonly long Moved;
    internal readonly long Emptied;
    internal readonly long Followed;
    internal readonly long Unfollowed;
    internal readonly uint Number;
    internal readonly uint Of;
}
