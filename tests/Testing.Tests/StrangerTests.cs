using System.Diagnostics;
using System.Reflection;
using System.Text.RegularExpressions;
using Freehold.Tests;

namespace Freehold.Testing.Tests;

/// <summary>
/// A solution outside of the repository: a library, its tests, and tests of another project that these inherit. One restore and one publish for all that is asked of it, since they take most of the time.
/// </summary>
public class StrangerTests
{
    /// <summary>The child has the library as it lies beside the tests: not what an earlier build has left where the library's project says, in this or another configuration.</summary>
    [Fact]
    public void TheChildHasWhatIsTested()
    {
        // Names that MSBuild and XML take for something else.
        string folder = Directory.CreateTempSubdirectory("freehold R&D 100% ").FullName;
        try
        {
            WriteSolution(folder);
            // Without the leak, in both configurations.
            WriteLibrary(folder, leaks: false);
            Run(folder, "build", "Shop.Tests", "-c", "Release");
            Run(folder, "build", "Shop.Tests", "-c", "Debug", "--no-restore");
            WriteLibrary(folder, leaks: true);
            (int exitCode, string said) = Run(folder, true, "test", "Shop.Tests", "-o", Path.Combine(folder, "out"), "--no-restore");

            // The first publish has no linker, and is not tried again by the tests behind it.
            Assert.True(exitCode == 1, said);
            Assert.True(said.Contains("error FH0004: No linker", StringComparison.Ordinal), said);
            Assert.Contains("the test project could not be published as a child", said);
            Assert.Contains("Failed:     3", said);
            Assert.Single(Directory.GetDirectories(Path.Combine(folder, "Shop.Tests", "obj", "Debug", "net10.0", "freehold-testing", "work")));

            (exitCode, said) = Run(folder, false, "test", "Shop.Tests", "-o", Path.Combine(folder, "out"), "--no-build");

            Assert.True(exitCode == 1, said);
            Assert.Matches("Failed: +1, Passed: +2,", said);
            Assert.True(Regex.IsMatch(said, @"24 bytes in 1 x Shop\.Order.*\n +24 bytes in 1 objects allocated\s+at Shop\.Desk\.Serve"), said);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static void WriteSolution(string folder)
    {
        string root = Metadata("RepositoryRoot");
        Write(folder, "Shop/Shop.csproj", """<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><TargetFramework>net10.0</TargetFramework></PropertyGroup></Project>""");
        Write(folder, "Shop.Tests/Shop.Tests.csproj", TestProject("""<ProjectReference Include="../Shop/Shop.csproj" /><ProjectReference Include="../Base.Tests/Base.Tests.csproj" />"""));
        Write(folder, "Base.Tests/Base.Tests.csproj", TestProject(""));
        Write(folder, "Base.Tests/Lines.cs", "public static class Lines { public static readonly string[] All = System.IO.File.ReadAllLines(System.IO.Path.Combine(System.AppContext.BaseDirectory, \"lines.txt\")); }");
        Write(folder, "Shop.Tests/lines.txt", "nails\nplanks\n");
        Write(folder, "Shop.Tests/ShopTests.cs", """
            using Freehold.Testing;
            using Xunit;

            public class ShopTests
            {
                [Fact]
                public void Nothing() => HeapAssert.LeavesNothing(static () => Shop.Desk.Serve());

                [Theory]
                [InlineData("nails")]
                [InlineData("planks")]
                public void Lines(string line) => PublishedTest.Run(() => Assert.Contains(line, global::Lines.All));
            }
            """);

        string TestProject(string references) => $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <TargetFramework>net10.0</TargetFramework>
                <RestoreAdditionalProjectSources>{Path.Combine(root, "artifacts", "packages", "dev")}</RestoreAdditionalProjectSources>
                <FreeholdCacheDirectory>{Path.Combine(root, "artifacts", "toolchains")}</FreeholdCacheDirectory>
                <InvariantGlobalization>true</InvariantGlobalization>
              </PropertyGroup>
              <ItemGroup>
                <None Update="lines.txt" CopyToOutputDirectory="PreserveNewest" />
                <PackageReference Include="Freehold.Testing" Version="{Metadata("TestingVersion")}" />
                <PackageReference Include="Microsoft.NET.Test.Sdk" Version="{Metadata("Microsoft.NET.Test.Sdk")}" />
                <PackageReference Include="xunit" Version="{Metadata("xunit")}" />
                <PackageReference Include="xunit.runner.visualstudio" Version="{Metadata("xunit.runner.visualstudio")}" />
                {references}
              </ItemGroup>
            </Project>
            """;
    }

    private static void WriteLibrary(string folder, bool leaks) => Write(folder, "Shop/Desk.cs", $$"""
        namespace Shop;

        public class Order
        {
            public int Number;
        }

        public static class Desk
        {
            [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
            public static void Serve()
            {
                {{(leaks ? "System.GC.KeepAlive(new Order());" : "")}}
            }
        }
        """);

    private static void Write(string folder, string name, string text)
    {
        string path = Path.Combine(folder, name);
        Directory.CreateDirectory(Path.GetDirectoryName(path)!);
        File.WriteAllText(path, text);
    }

    private static void Run(string folder, params string[] arguments)
    {
        (int exitCode, string said) = Run(folder, false, arguments);
        Assert.True(exitCode == 0, said);
    }

    private static (int ExitCode, string Said) Run(string folder, bool withoutLinker, params string[] arguments)
    {
        string dotnet = Environment.ProcessPath is { } host && Path.GetFileName(host) == "dotnet" ? host : "dotnet";
        var start = new ProcessStartInfo(dotnet, [.. arguments, "-nologo", "-nodeReuse:false", "-p:UseSharedCompilation=false"]) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase) || key.StartsWith("VSTEST", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(variable);
        if (withoutLinker)
        {
            string programs = Directory.CreateDirectory(Path.Combine(folder, "programs")).FullName;
            File.CreateSymbolicLink(Path.Combine(programs, "sh"), "/bin/sh");
            start.Environment["PATH"] = programs;
        }

        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync(), error = process.StandardError.ReadToEndAsync();
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(10), () => 0);
        return (killed is null ? process.ExitCode : -1, killed + output.Result + error.Result);
    }

    private static string Metadata(string key) => typeof(StrangerTests).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;
}
