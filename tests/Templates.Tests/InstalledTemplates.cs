using System.Diagnostics;
using System.Reflection;
using Freehold.Tests;

namespace Freehold.Templates.Tests;

/// <summary>A folder of templates (a hive) that has only those of the package, and the projects that tests make of them.</summary>
public sealed class InstalledTemplates : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-templates-").FullName;
    private readonly string _feed = Path.Combine(Metadata("RepositoryRoot"), "artifacts", "packages", "dev");

    public InstalledTemplates()
    {
        string package = Path.Combine(_feed, $"Freehold.Templates.{Metadata("TemplatesVersion")}.nupkg");
        Installation = New("install", package);
    }

    /// <summary>What the installation said.</summary>
    public string Installation { get; }

    /// <summary>The version of Freehold that the templates name.</summary>
    public static string FreeholdVersion => Metadata("FreeholdVersion");

    /// <inheritdoc />
    public void Dispose() => Directory.Delete(_root, recursive: true);

    /// <summary>Makes a project of a template.</summary>
    /// <returns>Its folder.</returns>
    public string Create(string template, string name)
    {
        string folder = Path.Combine(_root, name);
        New(template, "-o", folder);
        return folder;
    }

    /// <summary>Publishes a project as it is, with the repository's feed and toolchains, and without debug information, which takes a good part of the time.</summary>
    /// <returns>The executable.</returns>
    public string Publish(string folder)
    {
        string name = Path.GetFileName(folder), output = Path.Combine(_root, "out", name);
        string toolchains = Path.Combine(Metadata("RepositoryRoot"), "artifacts", "toolchains");
        DotnetPublish.Run(name, [folder, "-o", output, "-warnaserror", "-p:DebugType=none", $"-p:RestoreAdditionalProjectSources={_feed}", $"-p:FreeholdCacheDirectory={toolchains}"]);
        return Path.Combine(output, name);
    }

    private string New(params string[] arguments)
    {
        var start = new ProcessStartInfo("dotnet", ["new", .. arguments, "--debug:custom-hive", Path.Combine(_root, "hive")]) { WorkingDirectory = _root, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(variable);
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync(), error = process.StandardError.ReadToEndAsync();
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(10), () => 0);
        string said = output.Result + error.Result;
        return killed is null && process.ExitCode == 0 ? said : throw new InvalidOperationException($"dotnet new {string.Join(' ', arguments)}: {killed}\n{said}");
    }

    private static string Metadata(string key) => typeof(InstalledTemplates).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;
}
