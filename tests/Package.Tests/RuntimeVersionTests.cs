using System;
using System.IO;
using System.IO.Compression;
using System.Linq;
using Xunit;

namespace Freehold.Package.Tests;

/// <summary>
/// The package with the runtime is brought by the SDK, in the SDK's version. Where that is not Freehold's, a publish gets the right one by itself: on a machine with nothing
/// in its caches, and on one without a network.
/// </summary>
[Collection("machine")]
public sealed class RuntimeVersionTests(PackageFixture machine)
{
    private const string RuntimePackage = "Microsoft.NETCore.App.Runtime.NativeAOT.linux-x64";

    private const string Restoring = "the SDK brought another version";

    [Theory]
    [InlineData("10.0.11")]
    [InlineData("10.0.13")]
    public void AnSdkOfAnotherVersionIsNotNoticed(string sdk)
    {
        using var fresh = new PackageFixture();
        SampleProject first = ProjectOfSdk(fresh, sdk);
        CommandResult publish = first.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.Contains(Restoring, publish.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("warning", publish.Output, StringComparison.Ordinal);
        Assert.True(Directory.Exists(Path.Combine(fresh.Packages, RuntimePackage.ToLowerInvariant(), sdk)), "the SDK's own version was not restored: nothing is simulated");
        PublishTests.AssertRuns(first, manual: true);

        // From now on everything is in NuGet's folder, and a machine without a network needs nothing else.
        SampleProject second = ProjectOfSdk(fresh, sdk);
        CommandResult offline = second.Publish($"-p:RestoreSources={EmptyFeed(fresh)}");
        Assert.True(offline.ExitCode == 0, offline.Output);
        Assert.DoesNotContain(Restoring, offline.Output, StringComparison.Ordinal);
        PublishTests.AssertRuns(second, manual: true);

        // The stock publish, for comparisons, is of the same version.
        Assert.Equal(0, second.Publish("-p:FreeholdEnabled=false").ExitCode);
        PublishTests.AssertRuns(second, manual: false);
        string arguments = File.ReadAllText(Path.Combine(second.Folder, "obj/Release/net10.0/linux-x64/native/sample.ilc.rsp"));
        Assert.Contains($"/{RuntimePackage.ToLowerInvariant()}/10.0.12/", arguments, StringComparison.Ordinal);

        // Without the package, and without a network.
        Directory.Delete(Path.Combine(fresh.Packages, RuntimePackage.ToLowerInvariant(), "10.0.12"), recursive: true);
        SampleProject third = ProjectOfSdk(fresh, sdk);
        CommandResult missing = third.Publish($"-p:RestoreSources={EmptyFeed(fresh)}");
        Assert.NotEqual(0, missing.ExitCode);
        Assert.Contains("error FH0016:", missing.Output, StringComparison.Ordinal);
        Assert.Contains("ILCompiler 10.0.12 in net10.0", missing.Output, StringComparison.Ordinal);
        Assert.False(File.Exists(third.Executable));
    }

    [Fact]
    public void TheOtherTargetFrameworkWorks()
    {
        var project = new SampleProject(machine, framework: "net9.0");
        CommandResult publish = project.Publish();
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.DoesNotContain("warning", publish.Output, StringComparison.Ordinal);
        PublishTests.AssertRuns(project, manual: true);
        string arguments = File.ReadAllText(Path.Combine(project.Folder, "obj/Release/net9.0/linux-x64/native/sample.ilc.rsp"));
        Assert.Contains("/freehold/9.0.22-", arguments, StringComparison.Ordinal);
    }

    [Fact]
    public void OneProjectPublishesForBoth()
    {
        var project = new SampleProject(machine, properties: "<TargetFrameworks>net9.0;net10.0</TargetFrameworks>", framework: "");
        foreach (string framework in new[] { "net9.0", "net10.0" })
        {
            string output = Path.Combine(project.Folder, "out-" + framework);
            CommandResult publish = project.Publish("-f", framework, "-o", output);
            Assert.True(publish.ExitCode == 0, publish.Output);
            Assert.Contains("manual: True", Command.Run(project.Folder, new System.Collections.Generic.Dictionary<string, string?>(), Path.Combine(output, "sample")).Output, StringComparison.Ordinal);
        }
    }

    // A restore believes the SDK to be of that version: the packages that it downloads are of that version, and nobody tells it of another. The runtime package of that version need
    // not be the real one: it must not be used.
    private static SampleProject ProjectOfSdk(PackageFixture machine, string version)
    {
        string feed = Path.Combine(machine.Root, "feed");
        MakeRuntimePackage(feed, version);
        var project = new SampleProject(machine, properties: $"<RestoreAdditionalProjectSources>$(RestoreAdditionalProjectSources);{feed}</RestoreAdditionalProjectSources>");
        File.WriteAllText(Path.Combine(project.Folder, "Directory.Build.targets"), $"""
            <Project>
              <Target Name="OtherSdk" BeforeTargets="ProcessFrameworkReferences" Condition="'$(ExcludeRestorePackageImports)' == 'true'">
                <ItemGroup>
                  <KnownILCompilerPack>
                    <ILCompilerPackVersion>{version}</ILCompilerPackVersion>
                  </KnownILCompilerPack>
                </ItemGroup>
              </Target>
            </Project>
            """);
        return project;
    }

    private static void MakeRuntimePackage(string feed, string version)
    {
        Directory.CreateDirectory(feed);
        string path = Path.Combine(feed, $"{RuntimePackage}.{version}.nupkg");
        if (File.Exists(path))
        {
            return;
        }

        using ZipArchive package = ZipFile.Open(path, ZipArchiveMode.Create);
        using var specification = new StreamWriter(package.CreateEntry(RuntimePackage + ".nuspec").Open());
        specification.Write($"""
            <package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
              <metadata>
                <id>{RuntimePackage}</id>
                <version>{version}</version>
                <authors>test</authors>
                <description>Stands for the SDK's version.</description>
                <packageTypes><packageType name="DotnetPlatform" /></packageTypes>
              </metadata>
            </package>
            """);
    }

    private static string EmptyFeed(PackageFixture machine) => Directory.CreateDirectory(Path.Combine(machine.Root, "empty-feed")).FullName;
}
