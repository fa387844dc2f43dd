using System.Collections.Immutable;
using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.EventProcessors;
using BenchmarkDotNet.Exporters.Json;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Order;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.Results;
using Freehold.Benchmarks;
using Perfolizer.Horology;

namespace Freehold.Compare;

/// <summary>
/// Small operations: what a barrier, a comparison of references, a call or a cast costs on each heap. BenchmarkDotNet runs each operation on all heaps
/// before it comes to the next, each repetition in a process of its own.
/// </summary>
internal sealed class Micro(Options options, Bars bars)
{
    // Samples shorter than the scheduler's time slice: most are undisturbed even on a busy machine.
    private const double SampleMilliseconds = 2;
    private const int Samples = 100;

    private static readonly Type[] s_benchmarks = [typeof(Objects), typeof(References), typeof(Calls)];

    public string Run()
    {
        var nanoseconds = Measure();
        var table = new Table("operation", "workstation ns", "server ns", "Freehold ns", "Freehold / workstation", "Freehold net9.0 ns");
        var ratios = new Dictionary<string, double>();
        foreach (var operation in nanoseconds.Select(entry => entry.Key.Operation).Distinct())
        {
            ratios[operation] = Least(Variant.Freehold) / Least(Variant.Workstation);
            table.Add(operation, Least(Variant.Workstation), Least(Variant.Server), Least(Variant.Freehold), ratios[operation], Least(Variant.OtherFramework));

            double Least(Variant variant) => nanoseconds.GetValueOrDefault((operation, variant.Heap), double.NaN);
        }

        bars.Add("micro: loop that only compares references, Freehold / stock, at most 2", 2, false, Of(nameof(References.Compare)));
        bars.Add("micro: framework code that compares many, Freehold / stock, at most 1.03", 1.03, false,
            [.. Of(nameof(Calls.ListIndexOf)), .. Of(nameof(Calls.DictionaryKeyedByReference)), .. Of(nameof(Calls.EventDispatch)), .. Of(nameof(Calls.DelegateEquality))]);
        table.WriteCsv(Path.Combine(options.Output, "micro.csv"));
        return "## Small operations\n\nBenchmarkDotNet, ns for each, the fastest of all samples: collections of the stock heaps are not in them.\n\n" + table.ToMarkdown();

        (string, double)[] Of(string operation) => ratios.TryGetValue(operation, out var ratio) ? [(operation, ratio)] : [];
    }

    /// <summary>The fastest sample of each operation on each heap, in ns.</summary>
    private Dictionary<(string Operation, string Heap), double> Measure()
    {
        var log = Path.Combine(options.Output, "micro.log");
        Log.Line($"micro: BenchmarkDotNet publishes for {string.Join(", ", options.Variants.Select(variant => variant.Heap))}; its log is {log}");
        using var logger = new StreamLogger(log);
        var config = ManualConfig.CreateEmpty()
            .AddLogger(logger)
            .AddEventProcessor(new Progress())
            .AddExporter(JsonExporter.Full)
            .WithOrderer(new SideBySide())
            .WithArtifactsPath(Path.Combine(options.Output, "micro"))
            .WithBuildTimeout(TimeSpan.FromMinutes(20))
            .WithOptions(ConfigOptions.JoinSummary | ConfigOptions.KeepBenchmarkFiles)
            .AddColumnProvider(DefaultColumnProviders.Instance);
        foreach (var variant in options.Variants)
        {
            config.AddJob(Job.Default
                .WithRuntime(variant == Variant.OtherFramework ? NativeAotRuntime.Net90 : NativeAotRuntime.Net10_0)
                .WithToolchain(new PublishedToolchain(options, variant, "Micro"))
                .WithId(variant.Heap)
                .WithGcForce(false) // else Freehold would give its spare memory back before each sample
                .WithLaunchCount(options.Repetitions)
                .WithIterationTime(TimeInterval.FromMilliseconds(SampleMilliseconds))
                .WithIterationCount(Samples));
        }

        var summary = BenchmarkRunner.Run(s_benchmarks, config)[0];
        foreach (var error in summary.ValidationErrors.Where(error => error.IsCritical))
        {
            Log.Failure($"micro: {error.Message}");
        }

        var nanoseconds = new Dictionary<(string, string), double>();
        foreach (var report in summary.Reports)
        {
            var operation = report.BenchmarkCase.Descriptor.WorkloadMethod.Name;
            var heap = report.BenchmarkCase.Job.Id;
            if (report.ResultStatistics is { } statistics)
            {
                nanoseconds[(operation, heap)] = statistics.Min;
            }
            else
            {
                Log.Failure($"micro: {operation} has no result on {heap}: see {log}");
            }
        }

        return nanoseconds;
    }

    /// <summary>An operation on all heaps, then the next operation.</summary>
    private sealed class SideBySide : DefaultOrderer
    {
        public override IEnumerable<BenchmarkCase> GetExecutionOrder(ImmutableArray<BenchmarkCase> benchmarks, IEnumerable<BenchmarkLogicalGroupRule>? order = null) =>
            benchmarks.GroupBy(benchmark => benchmark.Descriptor.WorkloadMethod).SelectMany(group => group);
    }

    private sealed class Progress : EventProcessor
    {
        private int _count;

        public override void OnBuildComplete(BuildPartition partition, BuildResult result) =>
            Log.Line($"micro: {partition.RepresentativeBenchmarkCase.Job.Id} {(result.IsBuildSuccess ? "is published" : "could not be published")}");

        public override void OnStartRunBenchmark(BenchmarkCase benchmark) =>
            Log.Progress($"micro: operation {++_count}: {benchmark.Descriptor.WorkloadMethod.Name} on {benchmark.Job.Id}");
    }
}
