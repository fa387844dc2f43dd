namespace Freehold.BenchmarkDotNet;

/// <summary>What a job's program has under it.</summary>
/// <param name="Name">In the tables.</param>
/// <param name="Properties">What the publish is given for it.</param>
internal sealed record HeapKind(string Name, string Properties)
{
    public static readonly HeapKind Freehold = new("Freehold", "-p:FreeholdEnabled=true -p:ServerGarbageCollection=false");
    public static readonly HeapKind Workstation = new("Stock", "-p:FreeholdEnabled=false -p:ServerGarbageCollection=false");
    public static readonly HeapKind Server = new("StockServer", "-p:FreeholdEnabled=false -p:ServerGarbageCollection=true");

    /// <summary>Whether it can be asked what it did.</summary>
    public bool IsFreehold => this == Freehold;
}
