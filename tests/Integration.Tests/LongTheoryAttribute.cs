namespace Freehold.Integration.Tests;

/// <summary>Tests that take many minutes: <c>./build.sh stress --all</c> runs them, and whoever sets FREEHOLD_LONG_TESTS=1; else they are reported as skipped.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class LongTheoryAttribute : TheoryAttribute
{
    public LongTheoryAttribute()
    {
        if (Environment.GetEnvironmentVariable("FREEHOLD_LONG_TESTS") != "1")
        {
            Skip = "Publishes a hundred programs once more: FREEHOLD_LONG_TESTS=1 runs it, as ./build.sh stress --all does.";
        }
    }
}
