using System.Diagnostics;

namespace Freehold.Testing;

/// <summary>A <c>dotnet publish</c> of the child's project.</summary>
internal static class DotNetPublish
{
    internal static readonly TimeSpan Timeout = TimeSpan.FromMinutes(30);

    // What a test host, a collector of coverage or a debugger has set for this process is not for the build.
    private static readonly string[] s_foreign = ["MSBUILD", "VSTEST", "CORECLR_", "COR_", "COMPLUS_", "DOTNET_STARTUP_HOOKS", "DOTNET_gc", "TESTINGPLATFORM"];

    internal static (int ExitCode, string Output) Run(string dotnet, string project, string output)
    {
        // No server of the compiler: it would outlive this process and hold its outputs.
        var start = new ProcessStartInfo(dotnet, ["publish", project, "-nologo", "-v", "quiet", "-o", output, "-nodeReuse:false", "-p:UseSharedCompilation=false"]) { WorkingDirectory = Path.GetDirectoryName(project) };
        foreach (string variable in start.Environment.Keys.Where(key => s_foreign.Any(prefix => key.StartsWith(prefix, StringComparison.OrdinalIgnoreCase))).ToList())
        {
            start.Environment.Remove(variable);
        }

        try
        {
            CapturedProcess process = CapturedProcess.Run(start, Timeout);
            return (process.ExitCode ?? throw new PublishedTestException($"Freehold.Testing: the publish of the child did not end within {Timeout.TotalMinutes:0} minutes:\n{process.Output}"), process.Output);
        }
        catch (System.ComponentModel.Win32Exception exception)
        {
            throw new PublishedTestException($"Freehold.Testing: '{dotnet}', which built the test project, cannot be started to publish it: {exception.Message}");
        }
    }

    /// <summary>The errors, once each, if it says such; else all of it.</summary>
    internal static string Errors(string output)
    {
        List<string> errors = [.. output.Split('\n').Select(line => line.Trim()).Where(line => line.Contains("error", StringComparison.OrdinalIgnoreCase)).Distinct()];
        return errors.Count != 0 ? string.Join('\n', errors) : output.Trim();
    }
}
