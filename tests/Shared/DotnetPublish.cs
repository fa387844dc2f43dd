using System.Diagnostics;

namespace Freehold.Tests;

/// <summary>A <c>dotnet publish</c> by a test.</summary>
internal static class DotnetPublish
{
    /// <summary>Waits for its end.</summary>
    /// <exception cref="InvalidOperationException">It failed; the message has what it said.</exception>
    /// <exception cref="TimeoutException">It did nothing for long.</exception>
    public static void Run(string name, IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo("dotnet", ["publish", "-nologo", "-v", "quiet", .. arguments]) { RedirectStandardOutput = true, RedirectStandardError = true };
        // The test host's own settings are not the build's.
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(variable);
        using Process process = Process.Start(start)!;
        Task<string> text = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        // A quiet publish says nothing, but ilc, its child, always has something to do.
        if (ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(30), () => 0) is { } killed)
            throw new TimeoutException($"publishing {name}: {killed}");
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"publishing {name} failed:\n{text.Result}\n{error.Result}");
    }
}
