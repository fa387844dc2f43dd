using System.Diagnostics;
using System.Text;

namespace Freehold.Integration.Tests;

/// <summary>What a run of an executable gave.</summary>
/// <param name="ExitCode">The exit code; 128 + n when signal n ended it; null when it did not end in time.</param>
public sealed record Outcome(int? ExitCode, string Output, string Error)
{
    public override string ToString() => $"exit code {ExitCode?.ToString() ?? "none: it did not end in time"}\n--- output\n{Tail(Output)}\n--- error\n{Tail(Error)}";

    private static string Tail(string text) => text.Length < 4_000 ? text : "…" + text[^4_000..];
}

/// <summary>A published program.</summary>
public sealed class Executable(string path)
{
    public string Path => path;

    public Outcome Run(IReadOnlyDictionary<string, string>? environment, TimeSpan timeout, params IEnumerable<string> arguments)
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
        int? code = null;
        if (process.WaitForExit(timeout))
        {
            process.WaitForExit();
            code = process.ExitCode;
        }
        else
        {
            process.Kill(entireProcessTree: true);
        }
        lock (output)
        {
            lock (error)
                return new Outcome(code, output.ToString(), error.ToString());
        }
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
