using System.Text.RegularExpressions;
using AngleSharp.Dom;

namespace Freehold.Site.Tests;

/// <summary>The first page says what README.md says.</summary>
[Collection(SiteCollection.Name)]
public sealed partial class LandingTests(BuiltSite site)
{
    [Fact]
    public void NoFigureIsNew()
    {
        var known = Numbers(File.ReadAllText(Path.Combine(Repository.Root, "README.md")));
        var shown = Numbers(site.Pages["index.html"].QuerySelector("article")!.TextContent);
        Assert.NotEmpty(shown);
        Assert.Empty(shown.Except(known));
    }

    [Fact]
    public void TheFiguresOfTheTableAreShown()
    {
        var table = MarkdownTable.All(File.ReadAllText(Path.Combine(Repository.Root, "README.md"))).First();
        Assert.Equal(
            table.Rows.SelectMany(row => table.Heads.Skip(1).Zip(row.Skip(1), (heap, figure) => $"{row[0]}, {heap}: {figure}")),
            site.Pages["index.html"].QuerySelectorAll(".figures section").SelectMany(section => section.QuerySelectorAll("dt").Zip(
                section.QuerySelectorAll("dd"), (heap, figure) => $"{section.QuerySelector("h3")!.TextContent}, {heap.TextContent}: {figure.TextContent.Trim()}")));
    }

    private static HashSet<string> Numbers(string text) => [.. Number().Matches(text).Select(match => match.Value)];

    [GeneratedRegex(@"\d[\d,.]*\d|\d")]
    private static partial Regex Number();
}
