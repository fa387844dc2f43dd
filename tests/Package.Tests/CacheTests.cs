using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using Xunit;

namespace Freehold.Package.Tests;

/// <summary>The toolchain cache: made once, safe when builds run at once, whole after a kill.</summary>
[Collection("machine")]
public sealed class CacheTests(PackageFixture machine)
{
    private const string Preparing = "Preparing Freehold's toolchain";

    [Fact]
    public void ASecondPublishRewritesNothing()
    {
        var project = new SampleProject(machine);
        Assert.Equal(0, project.Publish().ExitCode);
        Dictionary<string, DateTime> before = Written(machine.Cache, Path.Combine(project.Folder, "obj/Release/net10.0/linux-x64/native"));
        Assert.Contains(before.Keys, path => path.EndsWith("sdk/System.Private.CoreLib.dll", StringComparison.Ordinal));
        Assert.Contains(before.Keys, path => path.EndsWith("freehold/sample.dll", StringComparison.Ordinal));

        CommandResult second = project.Publish();
        Assert.Equal(0, second.ExitCode);
        Assert.Equal(before, Written(machine.Cache, Path.Combine(project.Folder, "obj/Release/net10.0/linux-x64/native")));
        Assert.DoesNotContain(Preparing, second.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("Generating native code", second.Output, StringComparison.Ordinal);
    }

    [Fact]
    public void AnotherProjectUsesTheSameToolchain()
    {
        _ = machine.Published;
        CommandResult publish = new SampleProject(machine).Publish();
        Assert.Equal(0, publish.ExitCode);
        Assert.DoesNotContain(Preparing, publish.Output, StringComparison.Ordinal);
    }

    [Fact]
    public void TwoBuildsAtOnceMakeOneToolchain()
    {
        string cache = NewCache();
        SampleProject[] projects = [new(machine), new(machine)];
        (Process Process, StringBuilder Output)[] builds = [.. projects.Select(project => project.StartPublish($"-p:FreeholdCacheDirectory={cache}"))];
        foreach ((Process process, StringBuilder output) in builds)
        {
            process.WaitForExit();
            Assert.True(process.ExitCode == 0, output.ToString());
        }

        Assert.Equal(1, builds.Count(build => build.Output.ToString().Contains(Preparing, StringComparison.Ordinal)));
        Assert.Single(Directory.GetDirectories(cache));
        Assert.All(projects, project => PublishTests.AssertRuns(project, manual: true));
    }

    [Fact]
    public void AKilledBuildLeavesNothingHalfWritten()
    {
        string cache = NewCache();
        var project = new SampleProject(machine);
        Assert.Equal(0, project.Dotnet("restore", "-r", "linux-x64").ExitCode);
        (Process process, StringBuilder output) = project.StartPublish("--no-restore", $"-p:FreeholdCacheDirectory={cache}");
        var clock = Stopwatch.StartNew();
        while (!Directory.Exists(cache) || !Directory.EnumerateFiles(cache, "*.dll", SearchOption.AllDirectories).Any())
        {
            Assert.True(clock.Elapsed < TimeSpan.FromMinutes(3) && !process.HasExited, output.ToString());
            Thread.Sleep(5);
        }

        process.Kill(entireProcessTree: true);
        process.WaitForExit();
        Assert.All(Directory.GetDirectories(cache), directory => Assert.Contains(".tmp-", directory, StringComparison.Ordinal));
        Assert.NotEmpty(Directory.GetDirectories(cache));

        CommandResult second = project.Publish($"-p:FreeholdCacheDirectory={cache}");
        Assert.True(second.ExitCode == 0, second.Output);
        Assert.Single(Directory.GetDirectories(cache));
        Assert.DoesNotContain(".tmp-", Directory.GetDirectories(cache)[0], StringComparison.Ordinal);
        PublishTests.AssertRuns(project, manual: true);
    }

    [Fact]
    public void ADamagedToolchainIsMadeAgain()
    {
        string cache = NewCache();
        var project = new SampleProject(machine);
        Assert.Equal(0, project.Publish($"-p:FreeholdCacheDirectory={cache}").ExitCode);
        string lost = Directory.GetFiles(cache, "System.Linq.dll", SearchOption.AllDirectories).Single();
        File.Delete(lost);

        CommandResult second = project.Publish($"-p:FreeholdCacheDirectory={cache}");
        Assert.True(second.ExitCode == 0, second.Output);
        Assert.Contains(Preparing, second.Output, StringComparison.Ordinal);
        Assert.True(File.Exists(lost));
        Assert.Single(Directory.GetDirectories(cache));
    }

    [Fact]
    public void TheToolchainHoldsNoStockCollector()
    {
        _ = machine.Published;
        string archive = Directory.GetFiles(machine.Cache, "libRuntime.WorkstationGC.a", SearchOption.AllDirectories).Single();
        string[] members = Command.Tool("ar", "t", archive).Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        Assert.DoesNotContain("gcwks.cpp.o", members);
        Assert.DoesNotContain("gcload.cpp.o", members);
        Assert.Contains("WriteBarriers.S.o", members);
        Assert.Empty(Directory.GetFiles(machine.Cache, "libRuntime.ServerGC.a", SearchOption.AllDirectories));

        // The archive's index must agree with its members: that is what ld reads.
        string index = Command.Tool("nm", "--print-armap", archive);
        Assert.Contains("RhpAssignRef in WriteBarriers.S.o", index, StringComparison.Ordinal);
        Assert.DoesNotContain("in gcwks.cpp.o", index, StringComparison.Ordinal);
    }

    private static Dictionary<string, DateTime> Written(params string[] folders) => folders
        .SelectMany(folder => Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories))
        .Where(path => !path.EndsWith(".lock", StringComparison.Ordinal))
        .ToDictionary(path => path, File.GetLastWriteTimeUtc);

    private string NewCache() => Path.Combine(machine.Root, "cache-" + Guid.NewGuid().ToString("N")[..8]);
}
