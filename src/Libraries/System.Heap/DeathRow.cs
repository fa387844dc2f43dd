using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>DeathRow</c> in heap/death_table.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct DeathRow
{
    internal const int Most = 1 << 16;

    internal readonly nint Type;
    internal readonly nint HolderType;
    internal readonly nint Method;
    internal readonly uint Stack;
    internal readonly uint Offset;
    internal readonly byte Kind;
    internal readonly byte AliveAfter;
    internal readonly byte FrameGone;
    internal readonly uint Samples;
    internal readonly long Bytes;
    internal readonly long AgeSeen;
    internal readonly long AgeDead;
}
