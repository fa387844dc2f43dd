using System.Reflection;
using System.Runtime.Versioning;

namespace Freehold.BenchmarkDotNet;

/// <summary>For which framework the benchmarks are published.</summary>
internal static class TargetFramework
{
    // The first that Freehold is for. An older program with this package in it is a host, as a test runner, that rolls forward.
    private const int First = 9;

    /// <summary>What the program targets, as <c>net10.0</c>.</summary>
    public static string OfProgram()
    {
        string? name = Assembly.GetEntryAssembly()?.GetCustomAttribute<TargetFrameworkAttribute>()?.FrameworkName;
        Version version = name is not null && new FrameworkName(name).Version is { Major: >= First } target ? target : Environment.Version;
        return $"net{version.Major}.{version.Minor}";
    }
}
