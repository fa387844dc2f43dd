using System.Runtime.InteropServices;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.DotNetCli;
using BenchmarkDotNet.Toolchains.Results;

namespace Freehold.BenchmarkDotNet;

/// <summary>Publishes a generated project, where that can be.</summary>
internal sealed class HeapPublisher : IBuilder
{
    private readonly DotNetCliPublisher _publisher = new();

    /// <summary>Why it cannot be on this machine; null where it can.</summary>
    public static string? Refusal => RefusalFor(OperatingSystem.IsLinux(), RuntimeInformation.RuntimeIdentifier);

    /// <summary>The same of a machine with this runtime identifier, as <c>linux-x64</c>, <c>debian.12-x64</c> or <c>linux-musl-x64</c>.</summary>
    public static string? RefusalFor(bool isLinux, string runtimeIdentifier) =>
        isLinux && runtimeIdentifier.EndsWith("-x64", StringComparison.Ordinal) && !runtimeIdentifier.Contains("musl", StringComparison.Ordinal) && !runtimeIdentifier.StartsWith("alpine", StringComparison.Ordinal)
            ? null
            : $"Freehold supports linux-x64 only, and this machine is {runtimeIdentifier}: the jobs [FreeholdJob] and [StockJob] are not built here.";

    /// <inheritdoc />
    public BuildResult Build(GenerateResult generateResult, BuildPartition buildPartition, ILogger logger) =>
        Refusal is { } refusal ? BuildResult.Failure(generateResult, refusal) : _publisher.Build(generateResult, buildPartition, logger);
}
