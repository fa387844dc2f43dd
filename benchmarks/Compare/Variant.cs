namespace Freehold.Compare;

/// <summary>One way to publish a program: which heap it gets.</summary>
/// <param name="Heap">What the published program reports as its heap.</param>
/// <param name="Properties">MSBuild properties.</param>
internal sealed record Variant(string Heap, string[] Properties)
{
    public static readonly Variant Freehold = new("freehold", []);
    public static readonly Variant Workstation = new("workstation", ["-p:FreeholdEnabled=false"]);
    public static readonly Variant Server = new("server", ["-p:FreeholdEnabled=false", "-p:ServerGarbageCollection=true"]);

    public static readonly Variant[] All = [Workstation, Server, Freehold];
}
