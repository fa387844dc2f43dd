namespace System;

/// <summary>
/// Figures of the meshing malloc (<c>FreeholdNativeHeap=mesh</c>), which native code and <see cref="Runtime.InteropServices.NativeMemory"/> allocate from. All are zero in a program with the
/// malloc of the C library.
/// </summary>
/// <remarks>The properties are generated from src/Allocator/diag/native_figures.inc. docs/statistics.md lists them.</remarks>
public readonly partial struct NativeHeapStatistics
{
}
