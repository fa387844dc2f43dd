namespace Freehold.BenchmarkDotNet;

/// <summary>What a job's program has under it.</summary>
/// <param name="Name">In the tables.</param>
/// <param name="IsFreehold">Whether it can be asked what it did.</param>
internal sealed record HeapKind(string Name, bool IsFreehold)
{
    public static readonly HeapKind Freehold = new("Freehold", true);
    public static readonly HeapKind Workstation = new("Stock", false);
    public static readonly HeapKind Server = new("StockServer", false);
}
