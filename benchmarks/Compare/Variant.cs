namespace Freehold.Compare;

/// <summary>One way to publish a program: which heap it gets.</summary>
/// <param name="Heap">Its name in tables, and unless <paramref name="Reported"/> says otherwise what the published program reports as its heap.</param>
/// <param name="Properties">MSBuild properties; of a native one what it is linked with.</param>
/// <param name="Framework">What it targets.</param>
/// <param name="Reported">What the program reports, where that is not the name.</param>
internal sealed record Variant(string Heap, string[] Properties, string Framework = "net10.0", string? Reported = null)
{
    public static readonly Variant Freehold = new("freehold", []);
    public static readonly Variant Workstation = new("workstation", ["-p:FreeholdEnabled=false"]);
    public static readonly Variant Server = new("server", ["-p:FreeholdEnabled=false", "-p:ServerGarbageCollection=true"]);

    public static readonly Variant[] All = [Workstation, Server, Freehold];

    /// <summary>The server collector with as many heaps as processors from the start (Dynamic Adaptation To Application Sizes is off).</summary>
    public static readonly Variant ServerWithoutDatas = new("server-no-datas", ["-p:FreeholdEnabled=false", "-p:ServerGarbageCollection=true", "-p:GarbageCollectionAdaptationMode=0"], Reported: "server");

    public static readonly Variant[] Stock = [Workstation, Server, ServerWithoutDatas];

    /// <summary>Freehold on the other target framework, where it is asked for: what the newer one costs or saves.</summary>
    public static readonly Variant OtherFramework = new("freehold-net9.0", ["-p:ConsumerFramework=net9.0"], "net9.0", "freehold");

    /// <summary>Not a heap of .NET: the same work in C++, with the C library's malloc and free. What managing memory by hand costs without safety.</summary>
    public static readonly Variant Native = new("malloc", []);

    /// <summary>The same with the libraries that are known to do it better: linked with their sonames.</summary>
    public static readonly Variant Jemalloc = new("jemalloc", ["-l:libjemalloc.so.2"], Reported: "malloc"), Mimalloc = new("mimalloc", ["-l:libmimalloc.so.2"], Reported: "malloc");

    public static readonly Variant[] Natives = [Native, Jemalloc, Mimalloc];

    public bool IsNative => Natives.Contains(this);
}
