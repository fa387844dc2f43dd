using System.Diagnostics;
using System.Reflection;
using Freehold.Tests;

namespace Freehold.Testing.Tests;

/// <summary>A project outside of the repository whose child cannot be published: the failed test says why.</summary>
public class StrangerTests
{
    [Fact]
    public void AFailedPublishIsTheTestsFailure()
    {
        string root = Metadata("RepositoryRoot"), feed = Path.Combine(root, "artifacts", "packages", "dev");
        string folder = Directory.CreateTempSubdirectory("freehold stranger ").FullName;
        try
        {
            File.WriteAllText(Path.Combine(folder, "Shop.Tests.csproj"), $"""
                <Project Sdk="Microsoft.NET.Sdk">
                  <PropertyGroup>
                    <TargetFramework>net10.0</TargetFramework>
                    <RestoreAdditionalProjectSources>{feed}</RestoreAdditionalProjectSources>
                    <FreeholdCacheDirectory>{Path.Combine(root, "artifacts", "toolchains")}</FreeholdCacheDirectory>
                  </PropertyGroup>
                  <ItemGroup>
                    <PackageReference Include="Freehold.Testing" Version="{Metadata("TestingVersion")}" />
                    <PackageReference Include="Microsoft.NET.Test.Sdk" Version="17.14.1" />
                    <PackageReference Include="xunit" Version="2.9.3" />
                    <PackageReference Include="xunit.runner.visualstudio" Version="2.8.2" />
                  </ItemGroup>
                </Project>
                """);
            File.WriteAllText(Path.Combine(folder, "ShopTests.cs"), """
                public class ShopTests
                {
                    [Xunit.Fact]
                    public void Nothing() => Freehold.Testing.HeapAssert.LeavesNothing(static () => System.Heap.Delete(new object()));
                }
                """);
            (int? exitCode, string said) = RunTests(folder);

            Assert.True(exitCode == 1, said);
            Assert.Contains("the test project could not be published as a child", said);
            Assert.True(said.Contains("error FH0004: No linker", StringComparison.Ordinal), said);
            Assert.Contains("Failed:     1", said);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    // Without a linker in PATH.
    private static (int? ExitCode, string Said) RunTests(string folder)
    {
        string dotnet = Environment.ProcessPath is { } host && Path.GetFileName(host) == "dotnet" ? host : "dotnet";
        var start = new ProcessStartInfo(dotnet, ["test", "-nologo", "-nodeReuse:false"]) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase) || key.StartsWith("VSTEST", StringComparison.OrdinalIgnoreCase)).ToList())
            start.Environment.Remove(variable);
        string programs = Directory.CreateDirectory(Path.Combine(folder, "programs")).FullName;
        File.CreateSymbolicLink(Path.Combine(programs, "sh"), "/bin/sh");
        start.Environment["PATH"] = programs;
        using Process process = Process.Start(start)!;
        Task<string> output = process.StandardOutput.ReadToEndAsync(), error = process.StandardError.ReadToEndAsync();
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(10), () => 0);
        return (killed is null ? process.ExitCode : null, killed + output.Result + error.Result);
    }

    private static string Metadata(string key) => typeof(StrangerTests).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;
}
