using System.Diagnostics;
using System.Text;
using Freehold.Tests;

namespace Freehold.Integration.Tests;

/// <summary>What a run of an executable gave.</summary>
/// <param name="ExitCode">The exit code; 128 + n when signal n ended it; null when it was ended, for the reason that <paramref name="Killed"/> says.</param>
public sealed record Outcome(int? ExitCode, string Output, string Error, string? Killed = null)
{
    public override string ToString() => $"exit code {ExitCode?.ToString() ?? $"none, {Killed}"}\n--- output\n{Tail(Output)}\n--- error\n{Tail(Error)}";

    private static string Tail(string text) => text.Length < 4_000 ? text : "…" + text[^4_000..];
}

/// <summary>A published program.</summary>
public sealed class Executable(string path)
{
    public string Path => path;

    /// <summary>Runs it to its end, or until it has used so much processor time or hangs (<see cref="ProcessWatch"/>).</summary>
    public Outcome Run(IReadOnlyDictionary<string, string>? environment, TimeSpan limit, params IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo(path, arguments) { RedirectStandardOutput = true, RedirectStandardError = true, RedirectStandardInput = true };
        // Nothing of the developer's own settings may change a result.
        foreach (string name in start.Environment.Keys.Where(name => name.StartsWith("FREEHOLD_", StringComparison.Ordinal) || name.StartsWith("DOTNET_GC", StringComparison.Ordinal)).ToList())
            start.Environment.Remove(name);
        foreach ((string name, string value) in environment ?? new Dictionary<string, string>())
            start.Environment[name] = value;
        var output = new StringBuilder();
        var error = new StringBuilder();
        using var process = new Process { StartInfo = start };
        process.OutputDataReceived += (_, line) => Append(output, line.Data);
        process.ErrorDataReceived += (_, line) => Append(error, line.Data);
        process.Start();
        process.StandardInput.Close();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        string? killed = ProcessWatch.WaitForExit(process, limit, () => Length(output) + Length(error));
        // Until what it said has come.
        if (killed is null)
            process.WaitForExit();
        lock (output)
        {
            lock (error)
                return new Outcome(killed is null ? process.ExitCode : null, output.ToString(), error.ToString(), killed);
        }
    }

    private static long Length(StringBuilder builder)
    {
        lock (builder)
            return builder.Length;
    }

    private static void Append(StringBuilder builder, string? line)
    {
        lock (builder)
        {
            if (line is not null)
                builder.AppendLine(line);
        }
    }
}
