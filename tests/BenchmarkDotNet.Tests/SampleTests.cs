using System.Globalization;
using System.Text.RegularExpressions;

namespace Freehold.BenchmarkDotNet.Tests;

/// <summary>Programs with the package, as strangers write them.</summary>
public class SampleTests
{
    [LongFact]
    public void TheSampleOfTheReadmeRunsOnBothHeaps()
    {
        string readme = File.ReadAllText(Path.Combine(Stranger.Root, "src", "Libraries", "BenchmarkDotNet", "README.md"));
        using var stranger = new Stranger(Regex.Match(readme, "^```csharp\n(.*?)^```", RegexOptions.Multiline | RegexOptions.Singleline).Groups[1].Value);
        // Of a session before: it would change what is measured.
        string said = stranger.Run(("FREEHOLD_DEBUG", "1"));

        Assert.Contains("do not reach the benchmarks: FREEHOLD_DEBUG.", said);
        Dictionary<string, string>[] rows = Table(said, "Build");
        Assert.Equal(["Freehold", "Stock"], rows.Select(row => row["Job"]).Order());
        // BenchmarkDotNet has two characters for a millionth, and a word where the console has neither.
        Assert.All(rows, row => Assert.Matches("^[0-9.,]+ (n|u|\u00b5|\u03bc|m)s$", row["Mean"]));
        Dictionary<string, string> freehold = rows.Single(row => row["Job"] == "Freehold"), stock = rows.Single(row => row["Job"] == "Stock");
        // 190 characters and more: the builder and its chunks, all of which go. BenchmarkDotNet's own texts are in the figures of few operations, which a slow machine makes.
        double allocated = Bytes(freehold["Allocated (heap)"]);
        Assert.InRange(allocated, 400, 40_000);
        Assert.InRange(Bytes(freehold["Deleted (heap)"]), allocated * 0.5, allocated * 1.5);
        Assert.InRange(Bytes(freehold["Left (heap)"]), -allocated * 0.5, allocated * 0.5);
        Assert.InRange(Bytes(freehold["Reclaimed (heap)"]), 0, allocated * 0.5);
        Assert.Matches("^[0-9]+$|^-$", freehold["Faults"]);
        Assert.Matches("^[0-9.,]+ [a-z\u00b5\u03bc]+$", freehold["Longest stall"]);
        // It has nothing to say of them.
        Assert.DoesNotMatch("[1-9]", stock["Allocated (heap)"]);
    }

    /// <summary>Without the package in the program, it would run on the stock collector and be called Freehold.</summary>
    [Fact]
    public void AReferenceThatKeepsThePackageForItselfIsAnError()
    {
        using var stranger = new Stranger("""
            using BenchmarkDotNet.Attributes;
            using BenchmarkDotNet.Running;
            using Freehold.BenchmarkDotNet;

            BenchmarkRunner.Run<Nothing>();

            [FreeholdJob]
            public class Nothing
            {
                [Benchmark]
                public void Run()
                {
                }
            }
            """, "PrivateAssets=\"all\"");
        string said = stranger.Run();

        Assert.Contains("The package Freehold does not come with the reference to Sample.csproj.", said);
        Assert.DoesNotContain("// Execute:", said);
    }

    /// <summary>It is not published here, which is what takes the time.</summary>
    [Fact]
    public void TheBenchmarksOfThisRepositoryAreFound()
    {
        string said = Stranger.Run(Path.Combine(Stranger.Root, "benchmarks", "Deletions"), ["run", "-c", "Release", "--", "--list", "flat"]);

        Assert.Equal(["Delete", "DeleteAll", "DeleteGraph", "Drop", "Scope"], Regex.Matches(said, @"WaysToDelete\.(\w+)").Select(match => match.Groups[1].Value).Order(StringComparer.Ordinal));
    }

    // The last table: a row for each benchmark and job, by the heads of its columns.
    private static Dictionary<string, string>[] Table(string said, string method)
    {
        string[][] lines = [.. said.Split('\n').Where(line => line.StartsWith('|')).Select(line => line.Split('|')[1..^1].Select(cell => cell.Trim(' ', '*')).ToArray())];
        int head = Array.FindLastIndex(lines, line => line[0] == "Method");
        Assert.True(head >= 0, said);
        return [.. lines[(head + 1)..].Where(line => line[0] == method).Select(line => lines[head].Zip(line).ToDictionary(cell => cell.First, cell => cell.Second))];
    }

    private static double Bytes(string cell)
    {
        Match size = Regex.Match(cell, @"^(-?[0-9.,]+) (B|KB)$");
        return size.Success ? double.Parse(size.Groups[1].Value, CultureInfo.InvariantCulture) * (size.Groups[2].Value == "KB" ? 1024 : 1) : cell == "-" ? 0 : throw new FormatException($"'{cell}' is no size");
    }
}
