using Freehold.Tool.Protocol;

namespace Freehold.BenchmarkDotNet;

/// <summary>The figures of a process's heap at one moment (docs/statistics.md).</summary>
internal sealed class HeapFigures(IReadOnlyList<Figure> figures)
{
    private static readonly TimeSpan s_patience = TimeSpan.FromMinutes(1);

    private readonly Dictionary<string, Figure> _figures = figures.ToDictionary(figure => figure.Name);

    /// <summary>Asks a process, on its diagnostics socket.</summary>
    /// <exception cref="Tool.ToolException">It does not answer.</exception>
    public static HeapFigures Of(int process)
    {
        using System.Text.Json.JsonDocument answer = DiagnosticClient.AskAsync(process, Command.Stat, s_patience, CancellationToken.None).GetAwaiter().GetResult();
        return new HeapFigures(Figure.ReadAll(answer.RootElement));
    }

    public long this[string name] => _figures[name].Value;

    /// <summary>The longest time that a thread was stopped, or waited for one to stop, since the process began.</summary>
    public TimeSpan LongestStall => TimeSpan.FromTicks(_figures.Values
        .Where(figure => figure.Unit == "nanoseconds" && !figure.IsTotal && figure.Name.StartsWith("Longest", StringComparison.Ordinal))
        .Select(figure => figure.Value).DefaultIfEmpty().Max() / TimeSpan.NanosecondsPerTick);
}
