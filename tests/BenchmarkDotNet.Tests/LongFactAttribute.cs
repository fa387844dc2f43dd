namespace Freehold.BenchmarkDotNet.Tests;

/// <summary>A test that publishes programs for minutes: <c>./build.sh stress --all</c> runs it, and whoever sets FREEHOLD_LONG_TESTS=1; else it is reported as skipped.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LongFactAttribute : FactAttribute
{
    public LongFactAttribute()
    {
        if (Environment.GetEnvironmentVariable("FREEHOLD_LONG_TESTS") != "1")
        {
            Skip = "Publishes two programs with BenchmarkDotNet, ten minutes of a processor: FREEHOLD_LONG_TESTS=1 runs it, as ./build.sh stress --all does.";
        }
    }
}
