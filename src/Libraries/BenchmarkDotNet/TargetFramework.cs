using System.Reflection;
using System.Runtime.Versioning;

namespace Freehold.BenchmarkDotNet;

/// <summary>For which framework the benchmarks are published.</summary>
internal static class TargetFramework
{
    /// <summary>What the program targets, as <c>net10.0</c>.</summary>
    public static string OfProgram()
    {
        string? name = Assembly.GetEntryAssembly()?.GetCustomAttribute<TargetFrameworkAttribute>()?.FrameworkName;
        Version version = name is not null ? new FrameworkName(name).Version : Environment.Version;
        return $"net{version.Major}.{version.Minor}";
    }
}
