using System.Diagnostics;
using System.Reflection;
using System.Text;
using Freehold.Tests;

namespace Freehold.BenchmarkDotNet.Tests;

/// <summary>A project outside of the repository with the packed package, made, run and removed.</summary>
internal sealed class Stranger : IDisposable
{
    public static readonly string Root = Metadata("RepositoryRoot");

    private readonly string _folder = Directory.CreateTempSubdirectory("freehold-benchmark-").FullName;

    /// <param name="program">Its Program.cs.</param>
    /// <param name="metadata">Of its reference to the package, as attributes.</param>
    public Stranger(string program, string metadata = "")
    {
        _project = Directory.CreateDirectory(Path.Combine(_folder, "Sample")).FullName;
        File.WriteAllText(Path.Combine(_project, "Program.cs"), program);
        File.WriteAllText(Path.Combine(_project, "Sample.csproj"), $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <OutputType>Exe</OutputType>
                <TargetFramework>net10.0</TargetFramework>
                <ImplicitUsings>enable</ImplicitUsings>
                <Nullable>enable</Nullable>
              </PropertyGroup>
              <ItemGroup>
                <PackageReference Include="Freehold.BenchmarkDotNet" Version="{Metadata("PackageVersion")}" {metadata} />
              </ItemGroup>
            </Project>
            """);
        // BenchmarkDotNet's project is beside the program's, and finds the feed and the toolchains by the same file.
        File.WriteAllText(Path.Combine(_folder, "Directory.Build.props"), $"""
            <Project>
              <PropertyGroup>
                <RestoreAdditionalProjectSources>{Path.Combine(Root, "artifacts", "packages", "dev")}</RestoreAdditionalProjectSources>
                <FreeholdCacheDirectory>{Path.Combine(Root, "artifacts", "toolchains")}</FreeholdCacheDirectory>
              </PropertyGroup>
            </Project>
            """);
    }

    private readonly string _project;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    /// <summary>What <c>dotnet run -c Release</c> says, with the settings of a shell.</summary>
    public string Run(params (string Name, string Value)[] shell) => Run(_project, ["run", "-c", "Release"], shell);

    /// <summary>What <c>dotnet</c> says in a folder; it must succeed.</summary>
    public static string Run(string folder, string[] arguments, params (string Name, string Value)[] shell)
    {
        var start = new ProcessStartInfo("dotnet", arguments) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase) || key.StartsWith("FREEHOLD_", StringComparison.Ordinal)).ToList())
        {
            start.Environment.Remove(variable);
        }

        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        foreach ((string name, string value) in shell)
        {
            start.Environment[name] = value;
        }

        var output = new StringBuilder();
        using var process = new Process { StartInfo = start };
        process.OutputDataReceived += (_, line) => Append(line.Data);
        process.ErrorDataReceived += (_, line) => Append(line.Data);
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(30), Length);
        if (killed is null)
        {
            process.WaitForExit();
        }

        lock (output)
        {
            Assert.True(killed is null && process.ExitCode == 0, $"{killed}\n{output}");
            return output.ToString();
        }

        void Append(string? line)
        {
            lock (output)
            {
                output.AppendLine(line);
            }
        }

        long Length()
        {
            lock (output)
            {
                return output.Length;
            }
        }
    }

    private static string Metadata(string key) => typeof(Stranger).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;
}
