using Freehold.Tool;
using Freehold.Tool.Protocol;

namespace Freehold.BenchmarkDotNet;

/// <summary>The figures of a process's heap at one moment (docs/statistics.md).</summary>
internal sealed class HeapFigures
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(1);

    /// <exception cref="ToolException">A figure is missing.</exception>
    public HeapFigures(IReadOnlyList<Figure> figures)
    {
        Allocated = ValueOf(figures, "AllocatedBytes");
        Reclaimed = ValueOf(figures, "ReclaimedBytes");
        Deleted = ValueOf(figures, "DeletedBytes") - Reclaimed;
        Faults = ValueOf(figures, "RepairedFaults") + ValueOf(figures, "DanglingFaults");
        LongestStall = figures.Where(figure => figure is { Unit: "nanoseconds", IsTotal: false } && figure.Name.StartsWith("Longest", StringComparison.Ordinal))
            .Select(figure => figure.Value).DefaultIfEmpty().Max();
    }

    /// <summary>Bytes allocated since the process began.</summary>
    public long Allocated { get; }

    /// <summary>Bytes deleted since then, by the program and at the ends of scopes.</summary>
    public long Deleted { get; }

    /// <summary>Bytes that the heap deleted since then, because no root led to them.</summary>
    public long Reclaimed { get; }

    /// <summary>Page faults since then, at uses of objects that were moved or deleted.</summary>
    public long Faults { get; }

    /// <summary>The longest time that a thread was stopped, or waited for one to stop, since then; in nanoseconds.</summary>
    public long LongestStall { get; }

    /// <summary>Asks a process, on its diagnostics socket.</summary>
    /// <exception cref="ToolException">It does not answer, or says something else.</exception>
    public static HeapFigures Of(int process)
    {
        using System.Text.Json.JsonDocument answer = DiagnosticClient.AskAsync(process, Command.Stat, s_patience, CancellationToken.None).GetAwaiter().GetResult();
        return new HeapFigures(Figure.ReadAll(answer.RootElement));
    }

    private static long ValueOf(IReadOnlyList<Figure> figures, string name) => figures.FirstOrDefault(figure => figure.Name == name)?.Value
        ?? throw new ToolException($"the process has no figure {name}: it was published with another version of Freehold than the package Freehold.BenchmarkDotNet is for.");
}
