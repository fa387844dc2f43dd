namespace System;

/// <summary>
/// Figures of the meshing malloc (<c>FreeholdNativeHeap=mesh</c>), which native code and <see cref="Runtime.InteropServices.NativeMemory"/> allocate from. All are zero in a program with the
/// malloc of the C library.
/// </summary>
public readonly struct NativeHeapStatistics
{
    internal NativeHeapStatistics(ReadOnlySpan<ulong> values)
    {
        UsedBytes = (long)values[0];
        CachedBytes = (long)values[1];
        LargeBytes = (long)values[2];
        SavedBytes = (long)values[3];
        Meshes = (long)values[4];
        MeshingPasses = (long)values[5];
        Mappings = (long)values[6];
        MappingBudget = (long)values[7];
    }

    /// <summary>Memory of spans and of large objects, free slots of spans included. Pages that several spans share count once.</summary>
    public long UsedBytes { get; }

    /// <summary>Free memory that waits for its next use, or for FREEHOLD_MESH_DECAY to pass.</summary>
    public long CachedBytes { get; }

    /// <summary>The part of <see cref="UsedBytes"/> that objects above 32 KB have, and spans that do not mesh.</summary>
    public long LargeBytes { get; }

    /// <summary>Memory that spans do not need at the moment, because they share the pages of others.</summary>
    public long SavedBytes { get; }

    /// <summary>Spans that were meshed since the start of the process.</summary>
    public long Meshes { get; }

    /// <summary>How often spans to mesh were looked for.</summary>
    public long MeshingPasses { get; }

    /// <summary>Kernel mappings that spans take at the moment.</summary>
    public long Mappings { get; }

    /// <summary>Beyond so many nothing is meshed.</summary>
    public long MappingBudget { get; }
}
