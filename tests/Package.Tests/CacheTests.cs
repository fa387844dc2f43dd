using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using Freehold.Tasks;
using Xunit;

namespace Freehold.Package.Tests;

/// <summary>The toolchain cache: made once, safe when builds run at once, whole after a kill.</summary>
[Collection("second machine")]
public sealed class CacheTests(PackageFixture machine)
{
    private const string Preparing = "Preparing Freehold's toolchain";

    // Beside Freehold's folder in the cache lies one of the SDK's, which writes a number of the machine into it when it likes.
    [Fact]
    public void ASecondPublishRewritesNothing()
    {
        var project = new SampleProject(machine);
        Assert.Equal(0, project.Publish().ExitCode);
        Dictionary<string, DateTime> before = Written(Path.Combine(machine.Cache, "freehold"), Path.Combine(project.Folder, "obj/Release/net10.0/linux-x64/native"));
        Assert.Contains(before.Keys, path => path.EndsWith("sdk/System.Private.CoreLib.dll", StringComparison.Ordinal));
        Assert.Contains(before.Keys, path => path.EndsWith("freehold/sample.dll", StringComparison.Ordinal));

        CommandResult second = project.Publish();
        Assert.Equal(0, second.ExitCode);
        Assert.Equal(before, Written(Path.Combine(machine.Cache, "freehold"), Path.Combine(project.Folder, "obj/Release/net10.0/linux-x64/native")));
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
            CommandResult result = Command.Wait(process, output);
            Assert.True(result.ExitCode == 0, result.Output);
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
        while (!Directory.Exists(cache) || !Directory.EnumerateFiles(cache, "*.dll", SearchOption.AllDirectories).Any())
        {
            // If it never writes anything, it ends.
            Assert.False(process.HasExited, output.ToString());
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

    // tar, as the layers of containers, keeps whole seconds.
    [Fact]
    public void ACopiedToolchainIsUsedUnlessItsContentsDiffer()
    {
        _ = machine.Published;
        string original = Directory.GetDirectories(machine.Cache, "10.*", SearchOption.AllDirectories).Single(), key = Path.GetFileName(original), copy = Path.Combine(NewCache(), key);
        Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
        Command.Tool("sh", "-c", $"tar -C '{Path.GetDirectoryName(original)}' -cf - '{key}' | tar -C '{Path.GetDirectoryName(copy)}' -xf -");
        Assert.Equal(ToolchainStamp.State.Intact, ToolchainStamp.Compare(original, out _));
        Assert.Equal(ToolchainStamp.State.Copied, ToolchainStamp.Compare(copy, out _));

        CommandResult publish = new SampleProject(machine).Publish($"-p:FreeholdCacheDirectory={Path.GetDirectoryName(copy)}");
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.DoesNotContain(Preparing, publish.Output, StringComparison.Ordinal);
        Assert.Equal(ToolchainStamp.State.Intact, ToolchainStamp.Compare(copy, out _));

        // The same length, another byte.
        string changed = Path.Combine(copy, "sdk", "System.Private.CoreLib.dll");
        byte[] bytes = File.ReadAllBytes(changed);
        bytes[^1] ^= 1;
        File.WriteAllBytes(changed, bytes);
        Assert.Equal(ToolchainStamp.State.Damaged, ToolchainStamp.Compare(copy, out string difference));
        Assert.Contains("System.Private.CoreLib.dll", difference, StringComparison.Ordinal);
        File.Delete(changed);
        Assert.Equal(ToolchainStamp.State.Damaged, ToolchainStamp.Compare(copy, out _));
    }

    [Theory]
    [InlineData("cache it's & (ü) x", "project it's & (ü) x")]
    [InlineData("cache", "project $HOME \"x`y")]
    public void PathsMayHaveSpacesAndMore(string cache, string folder)
    {
        var project = new SampleProject(machine, folder: folder);
        CommandResult publish = project.Publish($"-p:FreeholdCacheDirectory={Path.Combine(NewCache(), cache)}");
        Assert.True(publish.ExitCode == 0, publish.Output);
        PublishTests.AssertRuns(project, manual: true);
    }

    // What the linker is told is quoted by the targets of one version and not by those of the other.
    [Theory]
    [InlineData("net10.0")]
    [InlineData("net9.0")]
    public void TheFolderOfObjectFilesMayHaveSpaces(string framework)
    {
        var project = new SampleProject(machine, framework: framework);
        CommandResult publish = project.Publish("--artifacts-path", Path.Combine(project.Folder, "all & (ü) artifacts"));
        Assert.True(publish.ExitCode == 0, publish.Output);
        Assert.Single(Directory.GetFiles(project.Folder, "sample.dbg", SearchOption.AllDirectories), path => path.Contains("publish", StringComparison.Ordinal));
    }

    [Fact]
    public void TheToolchainHoldsNoStockCollector()
    {
        _ = machine.Published;
        // That of each version which a test has published for by now.
        string[] archives = Directory.GetFiles(machine.Cache, "libRuntime.WorkstationGC.a", SearchOption.AllDirectories);
        Assert.NotEmpty(archives);
        foreach (string archive in archives)
        {
            string[] members = Command.Tool("ar", "t", archive).Split('\n', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
            Assert.DoesNotContain("gcwks.cpp.o", members);
            Assert.DoesNotContain("gcload.cpp.o", members);
            Assert.Contains("WriteBarriers.S.o", members);

            // The archive's index must agree with its members: that is what ld reads.
            string index = Command.Tool("nm", "--print-armap", archive);
            Assert.Contains("RhpAssignRef in WriteBarriers.S.o", index, StringComparison.Ordinal);
            Assert.DoesNotContain("in gcwks.cpp.o", index, StringComparison.Ordinal);
        }

        Assert.Empty(Directory.GetFiles(machine.Cache, "libRuntime.ServerGC.a", SearchOption.AllDirectories));
    }

    private static Dictionary<string, DateTime> Written(params string[] folders) => folders
        .SelectMany(folder => Directory.EnumerateFiles(folder, "*", SearchOption.AllDirectories))
        .Where(path => !path.EndsWith(".lock", StringComparison.Ordinal))
        .ToDictionary(path => path, File.GetLastWriteTimeUtc);

    private string NewCache() => Path.Combine(machine.Root, "cache-" + Guid.NewGuid().ToString("N")[..8]);
}
