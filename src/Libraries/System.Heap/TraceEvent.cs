using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>TraceEvent</c> in heap/trace.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct TraceEvent
{
    // Of enum TraceKind there, the stops before this one.
    internal const ulong FirstPhase = 5;

    internal readonly ulong Kind;
    internal readonly long Nanoseconds;
    internal readonly long Objects;
    internal readonly long Bytes;

    /// <summary>Its kind as the event says it.</summary>
    internal string Name => Kind switch
    {
        0 => "pins",
        1 => "remap",
        2 => "reclaim",
        3 => "outgrown arrays",
        4 => "scope",
        5 => "compaction",
        6 => "remap",
        7 => "reclaim",
        8 => "young reclaim",
        _ => "",
    };
}
