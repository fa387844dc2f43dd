using System.Diagnostics;
using Freehold.Tests;

namespace Freehold.Integration.Tests;

/// <summary>Publishes a project of tests/ once in each flavour; the build decides what is up to date. All are for the main target framework, unless they say another.</summary>
public static class Publisher
{
    private static readonly Lock s_gate = new();
    private static readonly Dictionary<string, Lazy<Executable>> s_published = [];

    /// <summary>The target framework of the projects.</summary>
    public const string MainFramework = "net10.0";

    /// <summary>The others that are supported.</summary>
    public const string OtherFramework = "net9.0";

    /// <summary>tests/Differential on the stock collector.</summary>
    public static Executable DifferentialStock => Get("Differential", freehold: false);

    /// <summary>tests/Differential on Freehold.</summary>
    public static Executable DifferentialFreehold => Get("Differential", freehold: true);

    /// <summary>The same, not optimised, as it comes from the configuration Debug.</summary>
    public static Executable DifferentialUnoptimised => Get("Differential", freehold: true, "Debug");

    /// <summary>tests/Ecosystem on the stock collector.</summary>
    public static Executable EcosystemStock => Get("Ecosystem", freehold: false);

    /// <summary>tests/Ecosystem on Freehold.</summary>
    public static Executable EcosystemFreehold => Get("Ecosystem", freehold: true);

    /// <summary>tests/Contract, which exists on Freehold only.</summary>
    public static Executable Contract => Get("Contract", freehold: true);

    /// <summary>tests/NativeHeap, whose malloc is the meshing one.</summary>
    public static Executable NativeHeap => Get("NativeHeap", freehold: true);

    /// <summary>tests/Contract with the meshing malloc.</summary>
    public static Executable ContractMesh => Get("Contract", freehold: true, nativeHeap: "mesh");

    /// <summary>tests/Differential with the meshing malloc.</summary>
    public static Executable DifferentialMesh => Get("Differential", freehold: true, nativeHeap: "mesh");

    /// <summary>Any of them, for a target framework.</summary>
    public static Executable Get(string project, bool freehold, string configuration = "Release", string framework = MainFramework, string? nativeHeap = null)
    {
        string name = project + (framework == MainFramework ? "" : "-" + framework) + (freehold ? "-freehold" : "-stock") + (configuration == "Release" ? "" : "-" + configuration.ToLowerInvariant()) + (nativeHeap is null ? "" : "-" + nativeHeap);
        Lazy<Executable>? lazy;
        lock (s_gate)
        {
            if (!s_published.TryGetValue(name, out lazy))
                s_published[name] = lazy = new Lazy<Executable>(() => Publish(project, name, freehold, configuration, framework, nativeHeap));
        }
        return lazy.Value;
    }

    private static Executable Publish(string project, string name, bool freehold, string configuration, string framework, string? nativeHeap)
    {
        string output = Path.Combine(Repository.Output, name);
        DotnetPublish.Run(name, [
            Path.Combine(Repository.Root, "tests", project), "-c", configuration, "--artifacts-path", Path.Combine(Repository.Output, "obj-" + name), "-o", output,
            "-p:FreeholdEnabled=" + (freehold ? "true" : "false"), "-p:ConsumerFramework=" + framework, .. nativeHeap is null ? Array.Empty<string>() : ["-p:FreeholdNativeHeap=" + nativeHeap],
        ]);
        return new Executable(Path.Combine(output, project));
    }
}
