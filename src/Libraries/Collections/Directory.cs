using System;

namespace Freehold.Collections;

/// <summary>The two levels above the leaves: arrays of references, none larger than a leaf.</summary>
internal static class Directory
{
    /// <summary>The binary logarithm of the most entries: 16 KB of references.</summary>
    internal const int Shift = 11;

    /// <summary>The most entries.</summary>
    internal const int Most = 1 << Shift;

    /// <summary>The bits of a leaf's number that say where in its directory it is.</summary>
    internal const int Mask = Most - 1;

    private const int Least = 4;

    /// <summary>A larger copy; the old one is deleted. It copies references to leaves, never elements.</summary>
    internal static TEntry[] Grow<TEntry>(TEntry[]? old)
        where TEntry : class?
    {
        var larger = new TEntry[old is null or { Length: 0 } ? Least : Math.Min(Most, old.Length * 2)];
        if (old is not null)
        {
            Array.Copy(old, larger, old.Length);
        }

        return larger;
    }

    /// <summary>Gives the memory of an array of a tree back. On a garbage collector the collector does.</summary>
    internal static void Free(Array? array)
    {
        if (Heap.IsManual && array is { Length: not 0 })
        {
            Heap.Delete(array);
        }
    }
}
