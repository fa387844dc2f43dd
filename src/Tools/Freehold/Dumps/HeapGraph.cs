namespace Freehold.Tool.Dumps;

/// <summary>What a dump holds: objects by number, with references to others by number.</summary>
internal sealed class HeapGraph
{
    /// <summary>In <see cref="References"/>: what the reference leads to is not in the dump any more.</summary>
    public const int Gone = -1;

    public required ProcessFacts Process { get; init; }

    public required string[] TypeNames { get; init; }

    public required long[] Addresses { get; init; }

    /// <summary>Numbers of <see cref="TypeNames"/>.</summary>
    public required int[] Types { get; init; }

    public required long[] Sizes { get; init; }

    public required ObjectState[] States { get; init; }

    /// <summary>References of the object i are from FirstReference[i] on, up to FirstReference[i + 1].</summary>
    public required int[] FirstReference { get; init; }

    /// <summary>Objects, or <see cref="Gone"/>. A dependent handle counts as a reference of its primary object.</summary>
    public required int[] References { get; init; }

    public required IReadOnlyList<Root> Roots { get; init; }

    public int Count => Addresses.Length;

    public ReadOnlySpan<int> ReferencesOf(int node) => References.AsSpan(FirstReference[node], FirstReference[node + 1] - FirstReference[node]);

    public string TypeOf(int node) => TypeNames[Types[node]];

    /// <summary>What keeps objects alive: roots, and frozen objects, which live for ever. Each once; what was deleted is none.</summary>
    public IEnumerable<int> Starts()
    {
        var seen = new HashSet<int>();
        foreach (Root root in Roots)
        {
            if (States[root.Target] != ObjectState.Deleted && seen.Add(root.Target))
            {
                yield return root.Target;
            }
        }

        for (int i = 0; i < Count; i++)
        {
            if (States[i] == ObjectState.Frozen && seen.Add(i))
            {
                yield return i;
            }
        }
    }
}

/// <summary>What the process said of itself.</summary>
internal readonly record struct ProcessFacts(long Id, DateTimeOffset Time, long AllocatedBytes, long DeletedBytes, long ResidentBytes);

/// <summary>A root that leads to an object.</summary>
internal readonly record struct Root(RootKind Kind, long Thread, int Target);

/// <summary>enum State of src/Allocator/diag/heap_dump.cpp.</summary>
internal enum ObjectState : byte
{
    Live = 0,

    /// <summary>Deleted, and still has memory.</summary>
    Deleted = 1,

    /// <summary>Of the program's file: texts in the code, and objects that the compiler made.</summary>
    Frozen = 2,
}

/// <summary>enum DumpedRoot of src/Allocator/diag/heap_dump.h.</summary>
internal enum RootKind
{
    Stack = 0,
    ThreadStatic = 1,
    Handle = 2,
    PinnedHandle = 3,
    CountedHandle = 4,
    Finalizer = 5,
}
