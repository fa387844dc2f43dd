using System.Diagnostics;
using System.Reflection;
using Freehold.Tests;

namespace Freehold.Site.Tests;

/// <summary>Where things are, and how its scripts run.</summary>
internal static class Repository
{
    public static string Root { get; } =
        Path.TrimEndingDirectorySeparator(typeof(Repository).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == "RepositoryRoot").Value!);

    /// <summary>Runs a script of the repository to its end, and returns how it ended and all that it said.</summary>
    public static (int ExitCode, string Output) Run(string script, params IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo(Path.Combine(Root, script), arguments) { WorkingDirectory = Root, RedirectStandardOutput = true, RedirectStandardError = true };
        // The test host's own settings are not the build's.
        foreach (var variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToList())
        {
            start.Environment.Remove(variable);
        }

        // A server of the compiler that the script starts would hold the pipes open.
        start.Environment["UseSharedCompilation"] = "false";
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        using var process = Process.Start(start)!;
        var text = process.StandardOutput.ReadToEndAsync();
        var error = process.StandardError.ReadToEndAsync();
        return ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(15), () => 0) is { } killed
            ? throw new TimeoutException($"{script}: {killed}")
            : (process.ExitCode, text.Result + error.Result);
    }
}
