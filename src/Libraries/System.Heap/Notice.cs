using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>NoticeGiven</c> in heap/notices.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct Notice
{
    // Of enum Notice there.
    internal const uint Pressure = 1;
    internal const uint Growth = 2;
    internal const uint Trace = 4;
    internal const uint Deaths = 8;

    internal readonly ulong Notices;
    internal readonly long HeapBytes;
    internal readonly long LiveBytes;
    internal readonly long HeapLimit;
    internal readonly long NativeBytes;
    internal readonly long ProcessLimit;
}
