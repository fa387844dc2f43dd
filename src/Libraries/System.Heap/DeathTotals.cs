using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>DeathTotals</c> in heap/death_look.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct DeathTotals
{
    internal readonly long Allocated;
    internal readonly long Looks;
    internal readonly long Samples;
    internal readonly long WithoutRoom;
    internal readonly long Lost;
    internal readonly long Untold;
    internal readonly long LongestInterval;
    internal readonly long Nanoseconds;
}
