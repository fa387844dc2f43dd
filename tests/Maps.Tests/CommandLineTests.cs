using Xunit;

namespace Freehold.Maps.Tests;

public sealed class CommandLineTests
{
    [Theory]
    [InlineData("No program named.")]
    [InlineData("Unknown option '--frobnicate'.", "a", "--frobnicate")]
    [InlineData("--fail-below needs a value.", "a", "--fail-below")]
    [InlineData("--fail-below needs a percentage between 0 and 100, not '101'.", "a", "--fail-below", "101")]
    [InlineData("--fail-below-bytes needs a percentage between 0 and 100, not 'NaN'.", "a", "--fail-below-bytes", "NaN")]
    [InlineData("One program at a time: 'a' or 'b'.", "a", "b")]
    [InlineData("--method goes with no option but --symbols.", "a", "--method", "m", "--json")]
    public void WrongUsageIsExitCodeTwo(string message, params string[] args)
    {
        (int code, string output, string error) = Tool.Run(args);
        Assert.Equal(Program.WrongUsage, code);
        Assert.StartsWith($"freehold-maps: {message}", error);
        Assert.Contains("usage:", error);
        Assert.Empty(output);
    }

    [Fact]
    public void Help()
    {
        (int code, string output, _) = Tool.Run("--help");
        Assert.Equal(Program.Good, code);
        Assert.Contains("--fail-below PERCENT", output);
    }
}
