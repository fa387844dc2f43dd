using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;

namespace Freehold.BenchmarkDotNet;

/// <summary>A job that publishes the benchmarks with NativeAOT and runs them on one heap: <see cref="FreeholdJobAttribute"/> or <see cref="StockJobAttribute"/>.</summary>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Assembly, AllowMultiple = true)]
public abstract class HeapJobAttribute : Attribute, IConfigSource
{
    private const int NotSet = -1;

    private readonly HeapKind _heap;
    private readonly int _launchCount;
    private readonly int _warmupCount;
    private readonly int _iterationCount;
    private readonly int _invocationCount;
    private readonly bool _baseline;

    private protected HeapJobAttribute(HeapKind heap, int launchCount, int warmupCount, int iterationCount, int invocationCount, bool baseline)
    {
        _heap = heap;
        _launchCount = launchCount;
        _warmupCount = warmupCount;
        _iterationCount = iterationCount;
        _invocationCount = invocationCount;
        _baseline = baseline;
    }

    /// <summary>Settings of the heap for the run, <c>FREEHOLD_…=value</c> or any other environment variable, separated by semicolons.</summary>
    public string Environment { get; set; } = "";

    /// <inheritdoc />
    public IConfig Config => ManualConfig.CreateEmpty().AddJob(CreateJob()).AddDiagnoser(new FreeholdDiagnoser());

    private Job CreateJob()
    {
        string framework = TargetFramework.OfProgram();
        Job job = new Job(_heap.Name)
            .WithRuntime(framework == "net9.0" ? NativeAotRuntime.Net90 : NativeAotRuntime.Net10_0)
            .WithToolchain(new HeapToolchain(_heap, framework))
            // A collection before each iteration is for heaps that collect; Freehold would give its spare memory back instead, and measure how it comes again.
            .WithGcForce(false);
        foreach (string setting in Environment.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            string[] parts = setting.Split('=', 2);
            job = parts.Length == 2 ? job.WithEnvironmentVariable(parts[0], parts[1]) : throw new ArgumentException($"'{setting}' in {nameof(Environment)} is no 'NAME=value'.");
        }

        if (_heap.IsFreehold)
        {
            job = job.WithEnvironmentVariable("FREEHOLD_DIAGNOSTICS", "1");
        }

        job = _launchCount != NotSet ? job.WithLaunchCount(_launchCount) : job;
        job = _warmupCount != NotSet ? job.WithWarmupCount(_warmupCount) : job;
        job = _iterationCount != NotSet ? job.WithIterationCount(_iterationCount) : job;
        // The unroll factor must divide it.
        job = _invocationCount != NotSet ? job.WithInvocationCount(_invocationCount).WithUnrollFactor(1) : job;
        return _baseline ? job.AsBaseline() : job;
    }
}
