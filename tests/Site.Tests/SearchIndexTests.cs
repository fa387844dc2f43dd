using System.Text.Json;

namespace Freehold.Site.Tests;

/// <summary>The words that the search of the site knows.</summary>
[Collection(SiteCollection.Name)]
public sealed class SearchIndexTests(BuiltSite site)
{
    [Theory]
    [InlineData("userfaultfd", "docs/internals/address-space.html")]
    [InlineData("FREEHOLD_DEBUG", "docs/settings.html")]
    [InlineData("DeleteGraph", "api/System.Heap.html")]
    [InlineData("FH1003", "docs/analyzers/FH1003.html")]
    [InlineData("TreeArray", "docs/collections.html")]
    public void ATermLeadsToItsPage(string term, string page) => Assert.Contains(term, Text(page), StringComparison.Ordinal);

    /// <summary>Source files are there for those who follow a link; they would hide the documentation.</summary>
    [Fact]
    public void SourcesAreNotFound()
    {
        Assert.Contains("samples/Tutorial/Program.cs.html", site.Pages.Keys);
        Assert.DoesNotContain(Index().EnumerateObject(), entry => entry.Name.EndsWith(".cs.html", StringComparison.Ordinal));
    }

    private string Text(string page)
    {
        var entry = Index().GetProperty(page);
        return entry.GetProperty("title").GetString() + " " + entry.GetProperty("summary").GetString();
    }

    private JsonElement Index() => JsonDocument.Parse(File.ReadAllText(Path.Combine(site.Folder, "index.json"))).RootElement;
}
