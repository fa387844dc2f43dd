namespace Freehold.Maps.Analysis;

/// <summary>Neighbouring instructions outside every range: addresses [Start, End), and those among them that may touch the heap.</summary>
public sealed record UnmappedRun(ulong Start, ulong End, UnmappedKind Kind, IReadOnlyList<ulong> HeapAccesses)
{
    public int Length => (int)(End - Start);
}
