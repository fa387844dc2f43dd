using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;

namespace Freehold.BenchmarkDotNet;

/// <summary>A job that publishes the benchmarks with NativeAOT and runs them on one heap: <see cref="FreeholdJobAttribute"/> or <see cref="StockJobAttribute"/>.</summary>
/// <remarks>BenchmarkDotNet reads it on one thread. What is wrong with it is an error of the validation, before anything is published.</remarks>
[AttributeUsage(AttributeTargets.Class | AttributeTargets.Assembly, AllowMultiple = true)]
public abstract class HeapJobAttribute : Attribute, IConfigSource
{
    private const int NotSet = -1;
    private const string Diagnostics = "FREEHOLD_DIAGNOSTICS";

    // Against builds that hang. Two publishes at once on a busy machine, the first of which makes the toolchain, took 8 minutes.
    private static readonly TimeSpan s_buildTimeout = TimeSpan.FromHours(1);

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

    /// <summary>Its name in the tables: two jobs on one heap need two. Without one, that of the heap: <c>Freehold</c>, <c>Stock</c> or <c>StockServer</c>.</summary>
    public string? Id { get; set; }

    /// <summary>Settings of the heap for the run, <c>FREEHOLD_…=value</c> or any other environment variable, separated by semicolons. Those of the shell do not count.</summary>
    public string Environment { get; set; } = "";

    /// <inheritdoc />
    public IConfig Config
    {
        get
        {
            ManualConfig config = ManualConfig.CreateEmpty().AddJob(CreateJob()).WithBuildTimeout(s_buildTimeout);
            return _heap.IsFreehold ? config.AddDiagnoser(new FreeholdDiagnoser()) : config;
        }
    }

    private Job CreateJob()
    {
        var problems = new List<string>();
        string framework = TargetFramework.OfProgram();
        Job job = new Job(Id ?? _heap.Name)
            .WithRuntime(framework == "net9.0" ? NativeAotRuntime.Net90 : NativeAotRuntime.Net10_0)
            .WithGcServer(_heap == HeapKind.Server)
            // A collection before each iteration is for heaps that collect; Freehold would give its spare memory back instead, and measure how it comes again.
            .WithGcForce(false);
        foreach ((string name, string value) in ReadEnvironment(problems))
        {
            job = job.WithEnvironmentVariable(name, value);
        }

        if (IsSet(_launchCount, "launchCount", 1))
        {
            job = job.WithLaunchCount(_launchCount);
        }

        if (IsSet(_warmupCount, "warmupCount", 0))
        {
            job = job.WithWarmupCount(_warmupCount);
        }

        if (IsSet(_iterationCount, "iterationCount", 1))
        {
            job = job.WithIterationCount(_iterationCount);
        }

        if (IsSet(_invocationCount, "invocationCount", 1))
        {
            // The unroll factor must divide it.
            job = job.WithInvocationCount(_invocationCount).WithUnrollFactor(1);
        }

        if (_baseline)
        {
            job = job.AsBaseline();
        }

        return job.WithToolchain(new HeapToolchain(_heap, framework, problems));

        bool IsSet(int count, string name, int least)
        {
            if (count == NotSet)
            {
                return false;
            }

            if (count < least)
            {
                problems.Add($"{name} is {count}. Give it {least} or more, or leave it out.");
            }

            return count >= least;
        }
    }

    private List<(string Name, string Value)> ReadEnvironment(List<string> problems)
    {
        var variables = new List<(string Name, string Value)>();
        foreach (string setting in Environment.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            int equals = setting.IndexOf('=', StringComparison.Ordinal);
            if (equals <= 0)
            {
                problems.Add($"'{setting}' in its Environment is no 'NAME=value'. Settings are separated by semicolons, as in \"FREEHOLD_RECLAIM=off;FREEHOLD_VERIFY=1\".");
                continue;
            }

            (string Name, string Value) variable = (setting[..equals].TrimEnd(), setting[(equals + 1)..].TrimStart());
            if (variable.Name == Diagnostics)
            {
                problems.Add($"{Diagnostics} stands in its Environment, and the job sets it itself. Leave it out.");
            }
            else if (variables.Exists(other => other.Name == variable.Name))
            {
                problems.Add($"{variable.Name} stands twice in its Environment. Give it one value.");
            }
            else
            {
                variables.Add(variable);
            }
        }

        return variables;
    }
}
