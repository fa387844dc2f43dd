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

    /// <summary>Not a heap of .NET: the same work in C++, with the C library's malloc and free. What managing memory by hand costs without safety.</summary>
    public static readonly Variant Native = new("malloc", []);
}
