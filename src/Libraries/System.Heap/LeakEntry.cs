using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>LeakEntry</c> in heap/leaks.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct LeakEntry
{
    internal readonly nint Type;
    internal readonly uint Stack;
    internal readonly uint Samples;
    internal readonly long Count;
    internal readonly long Bytes;
}
