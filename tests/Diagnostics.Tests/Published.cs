using System.Reflection;
using Freehold.Integration.Tests;
using Freehold.Tests;

namespace Freehold.Diagnostics.Tests;

/// <summary>tests/Diagnostics, published as most programs are, with EventSourceSupport, and with the meshing malloc.</summary>
internal static class Published
{
    private static readonly Lazy<Executable> s_plain = new(() => Publish("Diagnostics", "-p:EventSourceSupport=false"));
    private static readonly Lazy<Executable> s_withEvents = new(() => Publish("Diagnostics-events", "-p:EventSourceSupport=true"));
    private static readonly Lazy<Executable> s_withMesh = new(() => Publish("Diagnostics-mesh", "-p:FreeholdNativeHeap=mesh"));

    public static string Root { get; } =
        Path.GetFullPath(typeof(Published).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == "RepositoryRoot").Value!);

    /// <summary>Without event sources.</summary>
    public static Executable Plain => s_plain.Value;

    /// <summary>With them.</summary>
    public static Executable WithEvents => s_withEvents.Value;

    /// <summary>With the meshing malloc.</summary>
    public static Executable WithMesh => s_withMesh.Value;

    private static Executable Publish(string name, string property)
    {
        string folder = Path.Combine(Root, "artifacts", "diagnostics"), output = Path.Combine(folder, name);
        DotnetPublish.Run(name, [Path.Combine(Root, "tests", "Diagnostics"), "-c", "Release", "--artifacts-path", Path.Combine(folder, "obj-" + name), "-o", output, property]);
        return new Executable(Path.Combine(output, "Diagnostics"));
    }
}
