using System.Collections.Concurrent;

namespace Freehold.Integration.Tests;

/// <summary>Programs of one source in two executables, on the stock runtime and on Freehold, that must print the same. Each runs on the stock runtime once.</summary>
internal sealed class Comparison(Func<Executable> stock, Func<Executable> freehold, TimeSpan timeout)
{
    private readonly ConcurrentDictionary<string, Lazy<Outcome>> _stockOutcomes = new();

    public void AssertSame(string program, IReadOnlyDictionary<string, string> settings)
    {
        Outcome wanted = _stockOutcomes.GetOrAdd(program, name => new(() => stock().Run(null, timeout, "run", name))).Value;
        Assert.True(wanted.ExitCode == 0, "on the stock runtime: " + wanted);
        Outcome outcome = freehold().Run(settings, timeout, "run", program);
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.Equal(wanted.Output, outcome.Output);
    }
}
