using System;
using System.IO;
using System.IO.Compression;
using System.Linq;
using Xunit;

namespace Freehold.Package.Tests;

/// <summary>The rules FH1xxx reach a build that has nothing but the package reference, and .editorconfig rules over them.</summary>
[Collection("second machine")]
public sealed class AnalyzerTests(PackageFixture machine)
{
    private const string Source = """
        using System;

        var text = new System.Text.StringBuilder();
        Heap.Delete(text);
        Console.WriteLine(text.Length);
        """;

    [Fact]
    public void ThePackageHoldsTheRulesAndTheirPages()
    {
        using ZipArchive package = ZipFile.OpenRead(Path.Combine(PackageFixture.Feed, $"Freehold.{PackageFixture.Version}.nupkg"));
        string[] names = [.. package.Entries.Select(entry => entry.FullName).Where(name => name.StartsWith("analyzers/", StringComparison.Ordinal)).Order(StringComparer.Ordinal)];

        // The compiler brings its own assemblies; another copy of them would not load.
        Assert.Equal(["analyzers/dotnet/cs/Freehold.Analyzers.CodeFixes.dll", "analyzers/dotnet/cs/Freehold.Analyzers.dll"], names);
        Assert.NotNull(package.GetEntry("docs/analyzers/FH1001.md"));
    }

    [Fact]
    public void ABuildTellsOfAUseAfterDeletion()
    {
        var project = new SampleProject(machine, source: Source);
        CommandResult build = project.Dotnet("build", "-nologo");
        Assert.True(build.ExitCode == 0, build.Output);
        Assert.Contains("sample.cs(5,19): warning FH1001: 'text' is used after its deletion", build.Output, StringComparison.Ordinal);

        // An analyzer that threw (AD0001), or that this compiler could not load (CS8032, CS9057), would tell nothing.
        Assert.DoesNotContain("AD0001", build.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("CS8032", build.Output, StringComparison.Ordinal);
        Assert.DoesNotContain("CS9057", build.Output, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("dotnet_diagnostic.FH1001.severity = none", 0, false)]
    [InlineData("dotnet_analyzer_diagnostic.category-Freehold.severity = none", 0, false)]
    [InlineData("dotnet_diagnostic.FH1001.severity = error", 1, true)]
    public void EditorConfigChangesARule(string line, int exitCode, bool tells)
    {
        var project = new SampleProject(machine, source: Source);
        File.WriteAllText(Path.Combine(project.Folder, ".editorconfig"), $"root = true\n\n[*.cs]\n{line}\n");
        CommandResult build = project.Dotnet("build", "-nologo");
        Assert.True(build.ExitCode == exitCode, build.Output);
        Assert.Equal(tells, build.Output.Contains("FH1001", StringComparison.Ordinal));
    }
}
