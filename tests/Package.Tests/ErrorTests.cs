using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Xunit;

namespace Freehold.Package.Tests;

/// <summary>Bad input gives the error that docs/errors.md promises, and no executable.</summary>
[Collection("second machine")]
public sealed class ErrorTests(PackageFixture machine)
{
    /// <summary>Errors that a property on the command line causes.</summary>
    public static TheoryData<string, string[]> Properties => new()
    {
        { "FH0001", ["-r", "linux-musl-x64"] },
        { "FH0001", ["-r", "linux-arm64"] },
        { "FH0002", ["-p:TargetFramework=net8.0"] },
        // What a later SDK does; this one says itself that it does not know the framework (NETSDK1045).
        { "FH0002", ["-p:TargetFramework=net11.0", "-p:NETCoreAppMaximumVersion=11.0"] },
        { "FH0004", ["-p:CppCompilerAndLinker=no-such-linker"] },
        { "FH0005", ["-p:ServerGarbageCollection=true"] },
        { "FH0006", ["-p:PublishAot=false"] },
        { "FH0009", ["-p:FreeholdEnabled=maybe"] },
        { "FH0009", ["-p:FreeholdStatistics=yes"] },
        { "FH0009", ["-p:FreeholdDebug=stack"] },
        { "FH0009", ["-p:FreeholdHeapLimit=512Q"] },
        { "FH0009", ["-p:FreeholdHeapLimit=M"] },
        { "FH0009", ["-p:FreeholdHeapLimit=none"] },
        { "FH0009", ["-p:FreeholdMemoryLimit=all"] },
        { "FH0009", ["-p:FreeholdMapBudget=0"] },
        { "FH0009", ["-p:FreeholdProtection=none"] },
        { "FH0009", ["-p:FreeholdNativeHeap=jemalloc"] },
        { "FH0010", ["-p:NETCoreSdkVersion=9.0.300"] },
        { "FH0011", ["-p:FreeholdCacheDirectory=/proc/freehold"] },
        { "FH0015", ["-p:FreeholdCacheDirectory=/nowhere/a$b"] },
        { "FH0015", ["-p:FreeholdCacheDirectory=/nowhere/a!b"] },
        { "FH0015", ["-p:IntermediateOutputPath=obj/a`b/"] },
        { "FH0012", ["-p:IlcStandaloneGCSupport=true"] },
        { "FH0012", ["-p:IlcMultiModule=true"] },
        { "FH0012", ["-p:NativeLib=Static"] },
        { "FH0012", ["-p:FreeholdAutoDelete=true", "-p:Optimize=false"] },
        { "FH0012", ["-p:IlcSdkPath=/tmp/"] },
        { "FH0012", ["-p:IlcFrameworkNativePath=/tmp/"] },
        { "FH0012", ["-p:FreeholdNativeHeap=mesh", "-p:StaticExecutable=true"] },
    };

    [Theory]
    [MemberData(nameof(Properties))]
    public void APropertyIsRefused(string id, string[] arguments)
    {
        var project = new SampleProject(machine);
        Assert.Equal(0, project.Dotnet("restore", "-r", "linux-x64").ExitCode);

        // Without a restore: that of a foreign target would need packages that have nothing to do with the error.
        AssertFails(project, id, arguments.Contains("-r") ? project.Dotnet(["publish", "--no-restore", .. arguments]) : project.Publish(["--no-restore", .. arguments]));
    }

    [Fact]
    public void AnotherILCompilerIsRefused()
    {
        var project = new SampleProject(machine, items: """<PackageReference Include="Microsoft.DotNet.ILCompiler" Version="10.0.11" />""");
        CommandResult publish = project.Publish();
        AssertFails(project, "FH0003", publish);
        Assert.Contains("net10.0 (ILCompiler 10.0.12), net9.0 (ILCompiler 9.0.22)", publish.Output, StringComparison.Ordinal);
    }

    /// <summary>Each time, and as an error only for those who want warnings to be errors.</summary>
    [Fact]
    public void ANumberWithoutAPinIsAWarning()
    {
        const string Source = """
            using System.Runtime.CompilerServices;
            unsafe
            {
                byte[] array = [1, 2, 3];
                System.Console.WriteLine(*(byte*)Unsafe.AsPointer(ref array[1]));
            }
            """;
        var project = new SampleProject(machine, "<AllowUnsafeBlocks>true</AllowUnsafeBlocks>", source: Source);
        for (int i = 0; i < 2; i++)
        {
            CommandResult result = project.Publish();
            Assert.True(result.ExitCode == 0, result.Output);
            Assert.Matches(@"warning FH0014: .*Program::<Main>\$\(System\.String\[\]\), IL_[0-9a-f]{4} \(.*:5\)", result.Output);
        }

        Assert.DoesNotContain("FH0014", project.Publish("-p:NoWarn=FH0014").Output, StringComparison.Ordinal);
        Assert.Contains("error FH0014", project.Publish("-p:WarningsAsErrors=FH0014").Output, StringComparison.Ordinal);
    }

    [Fact]
    public void NoLinkerInPathIsRefused()
    {
        string tools = Directory.CreateDirectory(Path.Combine(machine.Root, "bin-" + Guid.NewGuid().ToString("N")[..8])).FullName;
        foreach (string tool in new[] { "dotnet", "sh", "bash", "ld" })
        {
            File.CreateSymbolicLink(Path.Combine(tools, tool), Command.Tool("sh", "-c", $"readlink -f $(command -v {tool})").Trim());
        }

        var project = new SampleProject(machine);
        project.SetEnvironment("PATH", tools);
        AssertFails(project, "FH0004", project.Publish());
    }

    [Fact]
    public void AnotherJitIsRefused()
    {
        var project = new SampleProject(machine);
        project.SetEnvironment("FREEHOLD_JIT", Command.Tool("gcc", "-print-file-name=libm.so.6").Trim());
        AssertFails(project, "FH0007", project.Publish());
    }

    [Fact]
    public void ATamperedPackageIsRefusedAndNothingIsCached()
    {
        _ = machine.Published;
        string file = Path.Combine(machine.Packages, "microsoft.netcore.app.runtime.nativeaot.linux-x64/10.0.12/runtimes/linux-x64/lib/net10.0/System.Private.Uri.dll");
        string cache = Path.Combine(machine.Root, "tampered");
        byte[] original = File.ReadAllBytes(file);
        try
        {
            File.WriteAllBytes(file, [.. original, 0]);
            var project = new SampleProject(machine);
            CommandResult publish = project.Publish($"-p:FreeholdCacheDirectory={cache}");
            AssertFails(project, "FH0008", publish);
            Assert.Contains("System.Private.Uri.dll", publish.Output, StringComparison.Ordinal);
            Assert.Empty(Directory.GetDirectories(cache));
        }
        finally
        {
            File.WriteAllBytes(file, original);
        }
    }

    [Fact]
    public void WithoutOurHeapNothingLinks()
    {
        // The archive is replaced by an empty one: the link must fail, since the toolchain holds no collector that could step in.
        string native = Path.Combine(machine.Packages, "freehold", PackageFixture.Version, "tools/linux-x64");
        string replaced = Directory.CreateDirectory(Path.Combine(machine.Root, "empty-" + Guid.NewGuid().ToString("N")[..8])).FullName;
        _ = machine.Published;
        File.Copy(Path.Combine(native, "libfreehold_jit.so"), Path.Combine(replaced, "libfreehold_jit.so"));
        Directory.CreateDirectory(Path.Combine(replaced, "10.0.12"));
        File.WriteAllText(Path.Combine(replaced, "10.0.12", "libfreehold.a"), "!<arch>\n");
        var project = new SampleProject(machine, source: "System.Console.WriteLine(1);");
        CommandResult publish = project.Publish($"-p:FreeholdNativePath={replaced}/");
        Assert.NotEqual(0, publish.ExitCode);
        Assert.Contains("GC_Initialize", publish.Output, StringComparison.Ordinal);
        Assert.False(File.Exists(project.Executable));
    }

    [Fact]
    public void AnExecutableWithoutOurHeapIsRefused()
    {
        var engine = new RecordingBuildEngine();
        Assert.False(new Freehold.Tasks.CheckExecutable { BuildEngine = engine, HelpLink = "errors.md", Executable = machine.Stock.Executable }.Execute());
        Assert.Equal(["FH0013"], engine.Errors);

        engine.Errors.Clear();
        Assert.True(new Freehold.Tasks.CheckExecutable { BuildEngine = engine, HelpLink = "errors.md", Executable = machine.Published.Executable }.Execute());
        Assert.Empty(engine.Errors);
    }

    // Something in the file system other than a build that holds the lock: waiting would not help. Here the lock's file is a program that runs (ETXTBSY), which stops root too.
    [Fact]
    public void ADamagedToolchainThatCannotBeMadeAgainIsRefused()
    {
        string cache = Directory.CreateDirectory(Path.Combine(machine.Root, "held-" + Guid.NewGuid().ToString("N")[..8])).FullName;
        string toolchain = Directory.CreateDirectory(Path.Combine(cache, "key")).FullName;
        File.WriteAllText(Path.Combine(toolchain, "file"), "content");
        Freehold.Tasks.ToolchainStamp.Write(toolchain);
        string program = Path.Combine(cache, "key.lock");
        File.Copy(Command.Tool("sh", "-c", "readlink -f $(command -v sleep)").Trim(), program);
        (System.Diagnostics.Process process, _) = Command.Start(cache, new Dictionary<string, string?>(), program, "1000000");
        try
        {
            var engine = new RecordingBuildEngine();
            using (Freehold.Tasks.PrepareToolchain task = New(engine))
            {
                Assert.True(task.Execute());
            }

            File.WriteAllText(Path.Combine(toolchain, "file"), "changed");
            using (Freehold.Tasks.PrepareToolchain task = New(engine))
            {
                Assert.False(task.Execute());
            }

            Assert.Equal(["FH0011"], engine.Errors);
            Assert.Contains("'file' has changed", engine.Messages.Single(), StringComparison.Ordinal);
        }
        finally
        {
            process.Kill();
            process.WaitForExit();
        }

        Freehold.Tasks.PrepareToolchain New(RecordingBuildEngine engine) => new()
        {
            BuildEngine = engine,
            HelpLink = "errors.md",
            CacheDirectory = cache,
            Key = "key",
            RuntimePatches = "none",
            CompilerPackage = "none",
            RuntimePackage = "none",
            Rewriter = "none",
        };
    }

    [Fact]
    public void EveryErrorIsDocumented()
    {
        string package = Path.Combine(machine.Packages, "freehold", PackageFixture.Version);
        _ = machine.Published;
        string page = File.ReadAllText(Path.Combine(package, "docs/errors.md"));
        for (int number = 1; number <= 16; number++)
        {
            Assert.Contains($"\n## FH{number:D4}\n", page, StringComparison.Ordinal);
        }
    }

    private static void AssertFails(SampleProject project, string id, CommandResult publish)
    {
        Assert.NotEqual(0, publish.ExitCode);
        Assert.Contains($"error {id}:", publish.Output, StringComparison.Ordinal);
        Assert.False(File.Exists(project.Executable), "an executable was published in spite of the error");
        Assert.All(ErrorIds(publish.Output), found => Assert.True(found == id || found.StartsWith("MSB", StringComparison.Ordinal), publish.Output));
    }

    private static IEnumerable<string> ErrorIds(string output) =>
        from line in output.Split('\n')
        let at = line.IndexOf("error ", StringComparison.Ordinal)
        where at >= 0 && line.IndexOf(':', at) > at
        select line[(at + 6)..line.IndexOf(':', at)].Trim();
}
