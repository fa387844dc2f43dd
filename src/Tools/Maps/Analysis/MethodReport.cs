namespace Freehold.Maps.Analysis;

/// <summary>What the scan of one method's instructions found.</summary>
public sealed record MethodReport(ManagedMethod Method, IReadOnlyList<UnmappedRun> Runs, int HeapAccesses)
{
    public bool HasRanges => Method.GcInfo.Ranges.Count > 0;

    /// <summary>Some instruction may touch the heap, so the method may fault.</summary>
    public bool CanFault => HeapAccesses > 0;

    /// <summary>The instructions that may fault and have no map.</summary>
    public int UnmappedHeapAccesses => Runs.Sum(r => r.HeapAccesses.Count);

    /// <summary>Every instruction that may fault has a map.</summary>
    public bool IsFullyMapped => UnmappedHeapAccesses == 0;

    public int BytesIn(UnmappedKind kind) => Runs.Where(r => r.Kind == kind).Sum(r => r.Length);

    public string Reason => HasRanges ? "interruptible"
        : Method.GcInfo.SafePoints.Count > 0 ? $"partially interruptible, {Method.GcInfo.SafePoints.Count} safe points"
        : Method.GcInfo.HasReversePInvokeFrame ? "no map (called from native code)"
        : "no range and no safe point";
}
