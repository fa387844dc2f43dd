using System;
using System.IO;
using System.Linq;
using System.Reflection;
using Microsoft.CodeAnalysis;
using Xunit;

namespace Freehold.Analyzers.Tests;

/// <summary>Each rule has a page, a row in the index and one in the release notes, with the severity that it has.</summary>
public sealed class DocsTests
{
    private static readonly string s_root = typeof(DocsTests).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(one => one.Key == "RepositoryRoot").Value!;

    public static TheoryData<string> Rules => [.. All.Select(rule => rule.Id)];

    private static DiagnosticDescriptor[] All => [.. new HeapAnalyzer().SupportedDiagnostics.Concat(new OwnedFieldAnalyzer().SupportedDiagnostics).OrderBy(rule => rule.Id, StringComparer.Ordinal)];

    [Theory]
    [MemberData(nameof(Rules))]
    public void EachRuleHasAPage(string id)
    {
        DiagnosticDescriptor rule = All.Single(one => one.Id == id);
        string page = File.ReadAllText(Path.Combine(s_root, rule.HelpLinkUri)), index = File.ReadAllText(Path.Combine(s_root, "docs/analyzers/README.md"));
        string severity = rule.DefaultSeverity == DiagnosticSeverity.Warning ? "warning" : "suggestion";
        Assert.StartsWith($"# {id}: {rule.Title}\n", page, StringComparison.Ordinal);
        Assert.Contains($"| [{id}]({id}.md) | {severity} |", index, StringComparison.Ordinal);
        string[] released = [.. new[] { "Shipped", "Unshipped" }.SelectMany(list => File.ReadAllLines(Path.Combine(s_root, $"src/Analyzers/Rules/AnalyzerReleases.{list}.md")))];
        Assert.Contains(released, row => row.StartsWith($"{id} | Freehold | {rule.DefaultSeverity} |", StringComparison.Ordinal));
    }

    [Fact]
    public void NumbersAreWithoutGaps() => Assert.Equal(Enumerable.Range(1001, All.Length).Select(number => $"FH{number}"), All.Select(rule => rule.Id));
}
