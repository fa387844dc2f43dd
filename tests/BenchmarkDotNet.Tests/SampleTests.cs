using System.Diagnostics;
using System.Globalization;
using System.Reflection;
using System.Text;
using System.Text.RegularExpressions;
using Freehold.Tests;

namespace Freehold.Benchmarks.Tests;

/// <summary>The program of the README, as it is written there.</summary>
public class SampleTests
{
    [Fact]
    public void TheSampleOfTheReadmeRunsOnBothHeaps()
    {
        string root = Metadata("RepositoryRoot"), readme = File.ReadAllText(Path.Combine(root, "src", "Libraries", "BenchmarkDotNet", "README.md"));
        string folder = Directory.CreateTempSubdirectory("freehold-benchmark-").FullName;
        try
        {
            File.WriteAllText(Path.Combine(folder, "Program.cs"), Regex.Match(readme, "^```csharp\n(.*?)^```", RegexOptions.Multiline | RegexOptions.Singleline).Groups[1].Value);
            File.WriteAllText(Path.Combine(folder, "Sample.csproj"), $"""
                <Project Sdk="Microsoft.NET.Sdk">
                  <PropertyGroup>
                    <OutputType>Exe</OutputType>
                    <TargetFramework>net10.0</TargetFramework>
                    <ImplicitUsings>enable</ImplicitUsings>
                    <Nullable>enable</Nullable>
                  </PropertyGroup>
                  <ItemGroup>
                    <PackageReference Include="Freehold.BenchmarkDotNet" Version="{Metadata("PackageVersion")}" />
                  </ItemGroup>
                </Project>
                """);
            // BenchmarkDotNet's project is beside the program's, and finds the feed and the toolchains by the same file.
            File.WriteAllText(Path.Combine(folder, "Directory.Build.props"), $"""
                <Project>
                  <PropertyGroup>
                    <RestoreAdditionalProjectSources>{Path.Combine(root, "artifacts", "packages", "dev")}</RestoreAdditionalProjectSources>
                    <FreeholdCacheDirectory>{Path.Combine(root, "artifacts", "toolchains")}</FreeholdCacheDirectory>
                  </PropertyGroup>
                </Project>
                """);
            string said = Run(folder);

            Dictionary<string, string>[] rows = Table(said);
            Assert.Equal(["Freehold", "Stock"], rows.Select(row => row["Job"]).Order());
            Assert.All(rows, row => Assert.Matches("^[0-9.,]+ [nμm]s$", row["Mean"]));
            Dictionary<string, string> freehold = rows.Single(row => row["Job"] == "Freehold"), stock = rows.Single(row => row["Job"] == "Stock");
            double allocated = Bytes(freehold["Allocated (heap)"]), deleted = Bytes(freehold["Deleted (heap)"]), reclaimed = Bytes(freehold["Reclaimed (heap)"]), left = Bytes(freehold["Left (heap)"]);
            // 190 characters and more: the builder and its chunks, all of which go.
            Assert.InRange(allocated, 400, 4_000);
            Assert.InRange(deleted + reclaimed + left, allocated * 0.98, allocated * 1.02);
            Assert.InRange(deleted, allocated * 0.98, allocated * 1.02);
            Assert.Matches("^[0-9]", freehold["Longest stall"]);
            // It has nothing to say of them.
            Assert.DoesNotMatch("[1-9]", stock["Allocated (heap)"]);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static string Run(string folder)
    {
        var start = new ProcessStartInfo("dotnet", ["run", "-c", "Release"]) { WorkingDirectory = folder, RedirectStandardOutput = true, RedirectStandardError = true };
        foreach (string variable in start.Environment.Keys.Where(key => key.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase) || key.StartsWith("FREEHOLD_", StringComparison.Ordinal)).ToList())
            start.Environment.Remove(variable);
        start.Environment["MSBUILDDISABLENODEREUSE"] = "1";
        var output = new StringBuilder();
        using var process = new Process { StartInfo = start };
        process.OutputDataReceived += (_, line) => Append(line.Data);
        process.ErrorDataReceived += (_, line) => Append(line.Data);
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(30), Length);
        if (killed is null)
            process.WaitForExit();
        lock (output)
        {
            Assert.True(killed is null && process.ExitCode == 0, $"{killed}\n{output}");
            return output.ToString();
        }

        void Append(string? line)
        {
            lock (output)
                output.AppendLine(line);
        }

        long Length()
        {
            lock (output)
                return output.Length;
        }
    }

    // The last table: a row for each benchmark and job, by the heads of its columns.
    private static Dictionary<string, string>[] Table(string said)
    {
        string[][] lines = [.. said.Split('\n').Where(line => line.StartsWith('|')).Select(line => line.Split('|')[1..^1].Select(cell => cell.Trim(' ', '*')).ToArray())];
        int head = Array.FindLastIndex(lines, line => line[0] == "Method");
        Assert.True(head >= 0, said);
        return [.. lines[(head + 1)..].Where(line => line[0] == "Build").Select(line => lines[head].Zip(line).ToDictionary(cell => cell.First, cell => cell.Second))];
    }

    private static double Bytes(string cell)
    {
        Match size = Regex.Match(cell, @"^(-?[0-9.,]+) (B|KB)$");
        return size.Success ? double.Parse(size.Groups[1].Value, CultureInfo.InvariantCulture) * (size.Groups[2].Value == "KB" ? 1024 : 1) : cell == "-" ? 0 : throw new FormatException($"'{cell}' is no size");
    }

    private static string Metadata(string key) => typeof(SampleTests).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(attribute => attribute.Key == key).Value!;
}
