using System.Text.Json;
using AngleSharp.Dom;

namespace Freehold.Site.Tests;

/// <summary>Whatever a page leads to or is made of is there.</summary>
[Collection(SiteCollection.Name)]
public sealed class LinkTests(BuiltSite site)
{
    [Fact]
    public void DocFxHasNoWarnings() => Assert.DoesNotContain("warning:", site.Output, StringComparison.Ordinal);

    [Fact]
    public void EveryLinkAndAnchorLeadsSomewhere() => Assert.Empty(LinkChecker.Broken(site.Folder, site.Pages));

    [Fact]
    public void TheCheckerFindsABrokenFileAndABrokenAnchor()
    {
        var page = new AngleSharp.Html.Parser.HtmlParser().ParseDocument(
            "<p id=here><a href='docs/nothing.html'></a><a href='#here'></a><a href='#there'></a><a href='docs/tutorial.html#no-such-heading'></a><img src='no.png'><a href='http://plain.example'></a>");
        Assert.Equal(
            ["index.html: docs/nothing.html", "index.html: #there", "index.html: docs/tutorial.html#no-such-heading", "index.html: no.png", "index.html: http://plain.example"],
            LinkChecker.Broken(site.Folder, new Dictionary<string, AngleSharp.Html.Dom.IHtmlDocument>(site.Pages) { ["index.html"] = page }).Where(broken => broken.StartsWith("index.html:", StringComparison.Ordinal)));
    }

    [Fact]
    public void NoPageNeedsAnotherSite() =>
        Assert.DoesNotContain(
            site.Pages.SelectMany(page => page.Value.QuerySelectorAll("script[src],link[href],img[src],iframe[src]").Select(part => $"{page.Key}: {part.GetAttribute("src") ?? part.GetAttribute("href")}")),
            address => address.Contains("//", StringComparison.Ordinal));

    [Fact]
    public void EveryPageHasOneTitleAndOneFirstHeading() =>
        Assert.Empty(site.Pages.Where(page => !LinkChecker.IsPart(page.Key) && (string.IsNullOrWhiteSpace(page.Value.Title) || page.Value.QuerySelectorAll("article h1").Length != 1)).Select(page => page.Key));

    /// <summary>What the browser makes of toc.json, and the search of index.json.</summary>
    [Theory]
    [InlineData("toc.json")]
    [InlineData("docs/toc.json")]
    [InlineData("api/toc.json")]
    [InlineData("index.json")]
    public void EveryAddressOfAListLeadsSomewhere(string list)
    {
        var addresses = new List<string>();
        Collect(JsonDocument.Parse(File.ReadAllText(Path.Combine(site.Folder, list))).RootElement);
        Assert.NotEmpty(addresses);
        var missing = addresses.Where(address => !File.Exists(Path.Combine(site.Folder, Path.GetDirectoryName(list)!, Uri.UnescapeDataString(address.Split('#')[0])))).ToList();
        Assert.Empty(missing);

        void Collect(JsonElement element)
        {
            if (element.ValueKind == JsonValueKind.Array)
            {
                element.EnumerateArray().ToList().ForEach(Collect);
            }
            else if (element.ValueKind == JsonValueKind.Object)
            {
                foreach (var property in element.EnumerateObject())
                {
                    if (property.Name is "href" or "topicHref" or "tocHref" && property.Value.GetString() is { Length: > 0 } address)
                    {
                        addresses.Add(address);
                    }

                    Collect(property.Value);
                }
            }
        }
    }

    /// <summary>docs/README.md is the one list; the site's is made of it.</summary>
    [Fact]
    public void TheContentsAreThoseOfTheReadme()
    {
        using var toc = JsonDocument.Parse(File.ReadAllText(Path.Combine(site.Folder, "docs", "toc.json")));
        var listed = toc.RootElement.GetProperty("items").EnumerateArray().SelectMany(part => part.GetProperty("items").EnumerateArray())
            .Select(item => Path.ChangeExtension(item.GetProperty("href").GetString()!, ".md"));
        var readme = File.ReadAllText(Path.Combine(Repository.Root, "docs", "README.md"));
        Assert.Equal(MarkdownPage.Links("docs/README.md", readme).Select(link => link.Address), listed);
    }

    [Fact]
    public void EveryPageOfTheDocumentationIsInTheContents()
    {
        var toc = File.ReadAllText(Path.Combine(site.Folder, "docs", "toc.json"));
        var pages = site.Pages.Keys.Where(page => page.StartsWith("docs/", StringComparison.Ordinal) && !LinkChecker.IsPart(page) && page != "docs/README.html").ToList();
        Assert.True(pages.Count > 60, $"{pages.Count} pages");
        var missing = pages.Where(page => !toc.Contains($"\"href\":\"{page["docs/".Length..]}\"", StringComparison.Ordinal)).ToList();
        Assert.Empty(missing);
    }
}
