namespace Freehold.Integration.Tests;

/// <summary>The environment variables, seen from outside.</summary>
public sealed class KnobTests
{
    // Of processor time.
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(8);

    [Theory]
    [InlineData("FREEHOLD_STAT", "1")]
    [InlineData("FREEHOLD_", "1")]
    [InlineData("FREEHOLD_stats", "1")]
    [InlineData("FREEHOLD_STATS", "yes")]
    [InlineData("FREEHOLD_STATS", "2")]
    [InlineData("FREEHOLD_DEBUG", "on")]
    [InlineData("FREEHOLD_DEBUG", "stack")]
    [InlineData("FREEHOLD_DEBUG", "1,stacks")]
    [InlineData("FREEHOLD_SAMPLE", "-1")]
    [InlineData("FREEHOLD_SAMPLE", "all")]
    [InlineData("FREEHOLD_SAMPLE", "1000000001")]
    [InlineData("FREEHOLD_VERIFY", "-1")]
    [InlineData("FREEHOLD_PROTECTION", "none")]
    [InlineData("FREEHOLD_HEAP_LIMIT", "lots")]
    [InlineData("FREEHOLD_HEAP_LIMIT", "0")]
    [InlineData("FREEHOLD_HEAP_LIMIT", "64MB")]
    [InlineData("FREEHOLD_HEAP_LIMIT", "-5M")]
    [InlineData("FREEHOLD_ADDRESS_SPACE", "big")]
    [InlineData("FREEHOLD_MAP_BUDGET", "0")]
    [InlineData("FREEHOLD_STRESS", "deletion")]
    public void AWrongSettingIsAnErrorThatNamesIt(string variable, string value)
    {
        Outcome outcome = Run(variable, value);
        Assert.NotEqual(0, outcome.ExitCode);
        Assert.NotNull(outcome.ExitCode);
        Assert.Contains(variable, outcome.Error);
        Assert.DoesNotContain("ok", outcome.Output);
    }

    [Theory]
    [InlineData("FREEHOLD_STATS", "0")]
    [InlineData("FREEHOLD_STATS", "true")]
    [InlineData("FREEHOLD_DEBUG", "1")]
    [InlineData("FREEHOLD_DEBUG", "stacks")]
    [InlineData("FREEHOLD_SAMPLE", "0")]
    [InlineData("FREEHOLD_SAMPLE", "10000")]
    [InlineData("FREEHOLD_PROTECTION", "auto")]
    [InlineData("FREEHOLD_PROTECTION", "mprotect")]
    [InlineData("FREEHOLD_HEAP_LIMIT", "512M")]
    [InlineData("FREEHOLD_HUGE_PAGES", "0")]
    [InlineData("FREEHOLD_MAP_BUDGET", "5000")]
    [InlineData("FREEHOLD_ADDRESS_SPACE", "1T")]
    public void ARightSettingIsTaken(string variable, string value)
    {
        Outcome outcome = Run(variable, value);
        Assert.True(outcome.ExitCode == 0 && outcome.Output == "ok\n", outcome.ToString());
    }

    [Fact]
    public void WithoutAddressesTheProgramSaysWhatHelps()
    {
        Outcome outcome = new Executable("/bin/sh").Run(null, s_limit, "-c", "ulimit -v 50000000; exec \"$0\" list", Publisher.Contract.Path);
        Assert.NotEqual(0, outcome.ExitCode);
        Assert.NotNull(outcome.ExitCode);
        Assert.Contains("ulimit -v", outcome.Error);
        Assert.Empty(outcome.Output);
    }

    [Fact]
    public void StatisticsAreATableAtExit()
    {
        Outcome with = Run("FREEHOLD_STATS", "1");
        Outcome without = Publisher.Contract.Run(null, s_limit, "run", "nothing");
        Assert.True(with.ExitCode == 0, with.ToString());
        Assert.Equal("ok\n", with.Output);
        Assert.Equal("", without.Error);
        string[] lines = with.Error.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.True(lines.Length >= 8, with.Error);
        foreach (string word in new[] { "allocated", "deleted", "released", "resident" })
            Assert.Contains(lines, line => line.Contains(word, StringComparison.OrdinalIgnoreCase) && line.Any(char.IsAsciiDigit));
    }

    private static Outcome Run(string variable, string value) => Publisher.Contract.Run(new Dictionary<string, string> { [variable] = value }, s_limit, "run", "nothing");
}
