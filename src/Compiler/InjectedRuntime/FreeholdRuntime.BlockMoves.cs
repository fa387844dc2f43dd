using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>Moves and fills of the native heap, called like managed code, which its fault handler knows how to unwind.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary><c>memmove</c>.</summary>
    [RuntimeImport("*", "freehold_memmove")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void MoveBlock(ref byte destination, ref byte source, nuint size);

    /// <summary><c>memset</c>.</summary>
    [RuntimeImport("*", "freehold_memset")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void FillBlock(ref byte place, int value, nuint size);

    /// <summary>The runtime's own safe point: a thread that is to stop stops here, with a frame from which its stack can be walked.</summary>
    [RuntimeImport("*", "RhpGcPoll")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void SafePoint();
}
