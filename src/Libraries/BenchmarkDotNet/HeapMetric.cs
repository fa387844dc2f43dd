using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Reports;

namespace Freehold.BenchmarkDotNet;

/// <summary>A column of the tables.</summary>
/// <param name="Id">For programs.</param>
/// <param name="DisplayName">Its head.</param>
/// <param name="Legend">What it means.</param>
/// <param name="UnitType">Of what kind its numbers are.</param>
/// <param name="Unit">In which unit they are.</param>
/// <param name="NumberFormat">How they are written.</param>
/// <param name="PriorityInCategory">Its place.</param>
internal sealed record HeapMetric(string Id, string DisplayName, string Legend, UnitType UnitType, string Unit, string NumberFormat, int PriorityInCategory) : IMetricDescriptor
{
    public static readonly HeapMetric Allocated = OfBytes("Allocated", "bytes allocated for each operation", 0);
    public static readonly HeapMetric Deleted = OfBytes("Deleted", "bytes of objects that each operation deleted, by itself or at the end of a scope", 1);
    public static readonly HeapMetric Reclaimed = OfBytes("Reclaimed", "bytes that nobody deleted and the heap did, since nothing led to them, for each operation", 2);
    public static readonly HeapMetric Left = OfBytes("Left", "bytes allocated and neither deleted nor reclaimed, for each operation", 3);
    public static readonly HeapMetric Faults =
        new("FreeholdFaults", "Faults", "page faults at uses of objects that were moved or deleted, in all measured iterations", UnitType.Dimensionless, "", "0", 4);

    public static readonly HeapMetric LongestStall =
        new("FreeholdLongestStall", "Longest stall", "the longest stop of threads since the process began", UnitType.Time, "ns", "0.###", 5);

    /// <inheritdoc />
    public bool TheGreaterTheBetter => false;

    /// <inheritdoc />
    public bool GetIsAvailable(Metric metric) => true;

    private static HeapMetric OfBytes(string name, string legend, int place) => new("Freehold" + name, name + " (heap)", legend, UnitType.Size, "B", "0.##", place);
}
