using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;
using Freehold.Integration.Tests;

namespace Freehold.Diagnostics.Tests;

/// <summary>The meter and the event source of the heap.</summary>
public sealed class MetricsTests
{
    // Of processor time.
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(4);

    [Theory]
    [InlineData("opentelemetry")]
    [InlineData("only-when-asked")]
    [InlineData("throwing-listener")]
    [InlineData("one-moment")]
    [InlineData("runtime-meter")]
    public void WithoutEventSources(string verb) => Passes(Published.Plain, verb);

    [Theory]
    [InlineData("from-the-start")]
    [InlineData("opentelemetry")]
    [InlineData("events")]
    [InlineData("runtime-events")]
    [InlineData("runtime-meter")]
    public void WithEventSources(string verb) => Passes(Published.WithEvents, verb);

    [Theory]
    [InlineData("leak-events", "FREEHOLD_RECLAIM", "report")]
    [InlineData("pressure-events", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("events", "FREEHOLD_STRESS", "promote:5000,reclaim:3000")]
    [InlineData("events", "FREEHOLD_RECLAIM_CONCURRENT", "0")]
    [InlineData("events", "FREEHOLD_PROTECTION", "mprotect")]
    [InlineData("one-moment", "FREEHOLD_STRESS", "promote:5000")]
    public void UnderASetting(string verb, string variable, string value) => Passes(Published.WithEvents, verb, variable, value);

    [Fact]
    public void TheInstrumentsAreThoseOfThePage()
    {
        string[] page = [.. File.ReadLines(Path.Combine(Published.Root, "docs", "metrics.md"))
            .Where(line => line.StartsWith("| `freehold.", StringComparison.Ordinal))
            .Select(line => line[..(line[..^1].LastIndexOf('|') + 1)])];
        Outcome outcome = Published.Plain.Run(null, s_limit, "instruments");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.True(page.Length > 50);
        Assert.Equal(page, outcome.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }

    [Fact]
    public void OnAStockCollectorThereIsNothing()
    {
        Assert.False(System.Heap.IsManual);
        int found = 0;
        using var listener = new MeterListener { InstrumentPublished = (instrument, _) => found += instrument.Meter.Name.StartsWith("Freehold", StringComparison.Ordinal) ? 1 : 0 };
        listener.Start();
        Assert.Equal("Freehold.Heap", System.HeapMetrics.MeterName);
        Assert.Equal("Freehold-Heap", System.HeapMetrics.EventSourceName);
        Assert.Equal(0, found);
        Assert.DoesNotContain(EventSource.GetSources(), source => source.Name.StartsWith("Freehold", StringComparison.Ordinal));
    }

    private static void Passes(Executable program, string verb, string? variable = null, string value = "")
    {
        Outcome outcome = program.Run(variable is null ? null : new Dictionary<string, string> { [variable] = value }, s_limit, verb);
        Assert.True(outcome.ExitCode == 0 && outcome.Output == "ok\n", outcome.ToString());
    }
}
