using System;
using System.IO;
using System.Linq;
using System.Reflection;

namespace Freehold.Package.Tests;

/// <summary>
/// A machine that has never seen the package: NuGet's folder and the toolchain cache are empty at first, and shared by the tests after that.
/// </summary>
public sealed class PackageFixture : IDisposable
{
    /// <summary>The version that was packed last.</summary>
    public static string Version { get; } = Metadata("FreeholdVersion");

    /// <summary>Where the package is.</summary>
    public static string Feed { get; } = Path.Combine(Metadata("RepositoryRoot"), "artifacts", "packages", "dev");

    /// <summary>A folder that is deleted at the end. No space in it: the SDK links the archives of the packages without quotes.</summary>
    public string Root { get; } = Directory.CreateTempSubdirectory("freehold-tests-").FullName;

    /// <summary>NuGet's folder.</summary>
    public string Packages => Path.Combine(Root, "nuget");

    /// <summary>XDG_CACHE_HOME.</summary>
    public string Cache => Path.Combine(Root, "cache");

    /// <summary>The stock program of <see cref="SampleProject.DefaultSource"/>, published once.</summary>
    public SampleProject Stock => _stock.Value;

    /// <summary>The same with Freehold.</summary>
    public SampleProject Published => _published.Value;

    private readonly Lazy<SampleProject> _stock;
    private readonly Lazy<SampleProject> _published;

    public PackageFixture()
    {
        _stock = new(() => PublishOnce("-p:FreeholdEnabled=false"));
        _published = new(() => PublishOnce());
    }

    /// <inheritdoc />
    public void Dispose() => Directory.Delete(Root, recursive: true);

    private SampleProject PublishOnce(params string[] arguments)
    {
        var project = new SampleProject(this);
        CommandResult result = project.Publish(arguments);
        return result.ExitCode == 0 ? project : throw new InvalidOperationException(result.Output);
    }

    private static string Metadata(string key) =>
        typeof(PackageFixture).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;
}
