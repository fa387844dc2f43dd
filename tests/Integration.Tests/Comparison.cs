using System.Collections.Concurrent;

namespace Freehold.Integration.Tests;

/// <summary>
/// The programs of one source, in an executable of the stock runtime and in others on Freehold: they must print the same. Each runs on the stock runtime once.
/// </summary>
/// <remarks>Safe for many threads: test classes run side by side.</remarks>
internal sealed class Comparison(Func<Executable> stock, IReadOnlyList<string> programs, TimeSpan limit)
{
    private readonly ConcurrentDictionary<string, Lazy<Outcome>> _stockOutcomes = new();

    public void AssertSame(string program, Executable freehold, IReadOnlyDictionary<string, string> settings)
    {
        Outcome wanted = _stockOutcomes.GetOrAdd(program, name => new(() => stock().Run(null, limit, "run", name))).Value;
        Assert.True(wanted.ExitCode == 0, "on the stock runtime: " + wanted);
        Outcome outcome = freehold.Run(settings, limit, "run", program);
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.Equal(wanted.Output, outcome.Output);
    }

    /// <summary>The executables are of the heaps that are meant, and have the programs that were read from the source.</summary>
    public void AssertExecutables(Executable freehold)
    {
        Assert.Equal("stock", stock().Run(null, limit, "heap").Output.Trim());
        Assert.Equal("freehold", freehold.Run(null, limit, "heap").Output.Trim());
        Assert.Equal(programs, freehold.Run(null, limit, "list").Output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
    }
}
