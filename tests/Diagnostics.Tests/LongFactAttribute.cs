namespace Freehold.Diagnostics.Tests;

/// <summary>A test that takes long: <c>./build.sh stress --all</c> runs it, and whoever sets FREEHOLD_LONG_TESTS=1; else it is reported as skipped.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LongFactAttribute : FactAttribute
{
    public LongFactAttribute()
    {
        if (Environment.GetEnvironmentVariable("FREEHOLD_LONG_TESTS") != "1")
        {
            Skip = "Takes long: FREEHOLD_LONG_TESTS=1 runs it, as ./build.sh stress --all does.";
        }
    }
}
