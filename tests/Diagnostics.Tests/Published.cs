using System.Diagnostics;
using System.Reflection;
using Freehold.Integration.Tests;
using Freehold.Tests;

namespace Freehold.Diagnostics.Tests;

/// <summary>tests/Diagnostics, published as most programs are, and with EventSourceSupport.</summary>
internal static class Published
{
    private static readonly Lazy<Executable> s_plain = new(() => Publish("Diagnostics", "-p:EventSourceSupport=false"));
    private static readonly Lazy<Executable> s_withEvents = new(() => Publish("Diagnostics-events", "-p:EventSourceSupport=true"));

    public static string Root { get; } =
        Path.GetFullPath(typeof(Published).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == "RepositoryRoot").Value!);

    /// <summary>Without event sources.</summary>
    public static Executable Plain => s_plain.Value;

    /// <summary>With them.</summary>
    public static Executable WithEvents => s_withEvents.Value;

    private static Executable Publish(string name, string property)
    {
        string folder = Path.Combine(Root, "artifacts", "diagnostics"), output = Path.Combine(folder, name);
        var start = new ProcessStartInfo("dotnet", [
            "publish", Path.Combine(Root, "tests", "Diagnostics"), "-c", "Release", "-nologo", "-v", "quiet", "--artifacts-path", Path.Combine(folder, "obj-" + name), "-o", output, property,
        ])
        { RedirectStandardOutput = true, RedirectStandardError = true };
        // The test host's own settings are not the build's.
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(variable);
        using Process process = Process.Start(start)!;
        Task<string> text = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        if (ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(30), () => 0) is { } killed)
            throw new TimeoutException($"publishing {name}: {killed}");
        if (process.ExitCode != 0)
            throw new InvalidOperationException($"publishing {name} failed:\n{text.Result}\n{error.Result}");
        return new Executable(Path.Combine(output, "Diagnostics"));
    }
}
