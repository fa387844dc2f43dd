using System.Collections.Concurrent;
using BenchmarkDotNet.Analysers;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Engines;
using BenchmarkDotNet.Exporters;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Validators;
using Freehold.Tool;

namespace Freehold.BenchmarkDotNet;

/// <summary>
/// Columns of what Freehold's heap did: bytes allocated, deleted, reclaimed and left, faults, the longest stall. <see cref="FreeholdJobAttribute"/> brings it.
/// </summary>
/// <remarks>It asks the process before the first measured iteration and after the last one, on its diagnostics socket: nothing is measured that would not run without it.</remarks>
public sealed class FreeholdDiagnoser : IDiagnoser
{
    private readonly ConcurrentDictionary<BenchmarkCase, HeapFigures> _before = new();
    private readonly ConcurrentDictionary<BenchmarkCase, HeapFigures> _after = new();
    private readonly ConcurrentQueue<string> _failures = new();

    /// <inheritdoc />
    public IEnumerable<string> Ids => [nameof(FreeholdDiagnoser)];

    /// <inheritdoc />
    public IEnumerable<IExporter> Exporters => [];

    /// <inheritdoc />
    public IEnumerable<IAnalyser> Analysers => [];

    /// <inheritdoc />
    public global::BenchmarkDotNet.Diagnosers.RunMode GetRunMode(BenchmarkCase benchmarkCase) => IsFreehold(benchmarkCase) ? global::BenchmarkDotNet.Diagnosers.RunMode.NoOverhead : global::BenchmarkDotNet.Diagnosers.RunMode.None;

    /// <inheritdoc />
    public void Handle(HostSignal signal, DiagnoserActionParameters parameters)
    {
        switch (signal)
        {
            case HostSignal.BeforeActualRun:
                Ask(_before, parameters);
                break;
            case HostSignal.AfterActualRun:
                Ask(_after, parameters);
                break;
            default:
                break;
        }
    }

    /// <inheritdoc />
    public IEnumerable<Metric> ProcessResults(DiagnoserResults results)
    {
        // What is measured between the two questions; the iterations for the overhead call nothing.
        long operations = results.Measurements.Where(measurement => measurement is { IterationMode: IterationMode.Workload, IterationStage: IterationStage.Actual }).Sum(measurement => measurement.Operations);
        if (operations == 0 || !_before.TryGetValue(results.BenchmarkCase, out HeapFigures? before) || !_after.TryGetValue(results.BenchmarkCase, out HeapFigures? after))
        {
            yield break;
        }

        double allocated = after.Allocated - before.Allocated, deleted = after.Deleted - before.Deleted, reclaimed = after.Reclaimed - before.Reclaimed;
        yield return new Metric(HeapMetric.Allocated, allocated / operations);
        yield return new Metric(HeapMetric.Deleted, deleted / operations);
        yield return new Metric(HeapMetric.Reclaimed, reclaimed / operations);
        yield return new Metric(HeapMetric.Left, (allocated - deleted - reclaimed) / operations);
        yield return new Metric(HeapMetric.Faults, after.Faults - before.Faults);
        yield return new Metric(HeapMetric.LongestStall, after.LongestStall);
    }

    /// <inheritdoc />
    public void DisplayResults(ILogger logger)
    {
        foreach (string failure in _failures)
        {
            logger.WriteLineError($"{nameof(FreeholdDiagnoser)} has no figures of {failure}");
        }
    }

    /// <inheritdoc />
    public IEnumerable<ValidationError> Validate(ValidationParameters validationParameters) => [];

    /// <summary>What a benchmark's program has said, for tests.</summary>
    internal void Take(BenchmarkCase benchmark, HeapFigures before, HeapFigures after)
    {
        _before[benchmark] = before;
        _after[benchmark] = after;
    }

    private static bool IsFreehold(BenchmarkCase benchmarkCase) => benchmarkCase.Job.Infrastructure.TryGetToolchain(out var toolchain) && toolchain is HeapToolchain { IsFreehold: true };

    private void Ask(ConcurrentDictionary<BenchmarkCase, HeapFigures> figures, DiagnoserActionParameters parameters)
    {
        try
        {
            figures[parameters.BenchmarkCase] = HeapFigures.Of(parameters.Process.Id);
        }
        catch (ToolException exception)
        {
            _failures.Enqueue($"{parameters.BenchmarkCase.DisplayInfo}: {exception.Message}");
        }
    }
}
