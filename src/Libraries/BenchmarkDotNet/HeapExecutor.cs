using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.Parameters;
using BenchmarkDotNet.Toolchains.Results;

namespace Freehold.BenchmarkDotNet;

/// <summary>
/// Runs a published program without the settings of the shell: a FREEHOLD_DEBUG that was left there would be measured without a word. BenchmarkDotNet runs one program at a time, and its executor takes the
/// environment of this process.
/// </summary>
internal sealed class HeapExecutor : IExecutor
{
    private const string Prefix = "FREEHOLD_";

    private readonly Executor _executor = new();

    /// <summary>The names of the variables that programs do not get.</summary>
    public static IReadOnlyList<string> VariablesOfTheShell => [.. Environment.GetEnvironmentVariables().Keys.Cast<string>().Where(name => name.StartsWith(Prefix, StringComparison.Ordinal)).Order(StringComparer.Ordinal)];

    /// <inheritdoc />
    public ExecuteResult Execute(ExecuteParameters executeParameters)
    {
        var taken = VariablesOfTheShell.ToDictionary(name => name, Environment.GetEnvironmentVariable);
        try
        {
            foreach (string name in taken.Keys)
            {
                Environment.SetEnvironmentVariable(name, null);
            }

            return _executor.Execute(executeParameters);
        }
        finally
        {
            foreach ((string name, string? value) in taken)
            {
                Environment.SetEnvironmentVariable(name, value);
            }
        }
    }
}
