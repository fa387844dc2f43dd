using System.Text.Json;
using System.Reflection.Metadata;
using System.Reflection.PortableExecutable;
using AngleSharp.Dom;
using AngleSharp.Html.Dom;

namespace Freehold.Site.Tests;

/// <summary>The reference has what a program can see of the libraries.</summary>
[Collection(SiteCollection.Name)]
public sealed class ApiTests(BuiltSite site)
{
    private static readonly string[] s_libraries = ["System.Heap/bin/Release/net9.0/Freehold.dll", "Collections/bin/Release/net9.0/Freehold.Collections.dll", "Testing/bin/Release/net9.0/Freehold.Testing.dll", "BenchmarkDotNet/bin/Release/net9.0/Freehold.BenchmarkDotNet.dll"];

    [Fact]
    public void EveryPublicTypeHasAPage()
    {
        var types = s_libraries.SelectMany(library => PublicTypes(Path.Combine(Repository.Root, "src", "Libraries", library))).ToList();
        Assert.Contains("System.Heap", types);
        Assert.Contains("Freehold.Collections.TreeArray-1", types);
        var missing = types.Where(type => !site.Pages.ContainsKey($"api/{type}.html")).ToList();
        Assert.Empty(missing);
    }

    [Fact]
    public void EveryTypeSaysWhatItIsFor() =>
        Assert.Empty(TypePages().Where(page => page.Value.QuerySelector("article .summary, article .markdown.summary") is not { } summary || summary.TextContent.Trim().Length < 10).Select(page => page.Key));

    [Fact]
    public void TheFirstPageOfTheApiLeadsToEveryNamespace()
    {
        using var toc = JsonDocument.Parse(File.ReadAllText(Path.Combine(site.Folder, "api", "toc.json")));
        var listed = toc.RootElement.GetProperty("items").EnumerateArray().Select(item => item.GetProperty("href").GetString()).ToList();
        var linked = site.Pages["api/index.html"].QuerySelectorAll("article a[href]").Select(link => link.GetAttribute("href")).ToList();
        Assert.NotEmpty(listed);
        Assert.Empty(listed.Except(linked));
    }

    /// <summary>A paragraph of a docstring, from the source to the page.</summary>
    [Fact]
    public void APageHasTheTextOfTheDocstring()
    {
        var summary = System.Xml.Linq.XDocument.Load(Path.Combine(Repository.Root, "src", "Libraries", "System.Heap", "bin", "Release", "net9.0", "Freehold.xml"))
            .Descendants("member").Single(member => member.Attribute("name")?.Value == "T:System.DoubleDeleteException").Element("summary")!;
        var words = summary.Nodes().OfType<System.Xml.Linq.XText>().First().Value.Trim();
        Assert.Contains(words, site.Pages["api/System.DoubleDeleteException.html"].Body!.TextContent, StringComparison.Ordinal);
    }

    private IEnumerable<KeyValuePair<string, IHtmlDocument>> TypePages() =>
        site.Pages.Where(page => page.Key.StartsWith("api/", StringComparison.Ordinal) && page.Value.QuerySelector("article")?.GetAttribute("data-uid") is { Length: > 0 } && page.Value.QuerySelector("article h1")?.TextContent.Trim().StartsWith("Namespace", StringComparison.Ordinal) == false);

    /// <summary>The types that another assembly can name and that are for its editor, as DocFX names their pages.</summary>
    private static IEnumerable<string> PublicTypes(string library)
    {
        using var file = new PEReader(File.OpenRead(library));
        var metadata = file.GetMetadataReader();
        foreach (var type in metadata.TypeDefinitions.Select(metadata.GetTypeDefinition))
        {
            if (IsVisible(type) && !IsHidden(type))
            {
                yield return Name(type);
            }
        }

        bool IsVisible(TypeDefinition type) => (type.Attributes & System.Reflection.TypeAttributes.VisibilityMask) switch
        {
            System.Reflection.TypeAttributes.Public => true,
            System.Reflection.TypeAttributes.NestedPublic or System.Reflection.TypeAttributes.NestedFamily or System.Reflection.TypeAttributes.NestedFamORAssem => IsVisible(metadata.GetTypeDefinition(type.GetDeclaringType())),
            _ => false,
        };

        // [EditorBrowsable(EditorBrowsableState.Never)]: 1, after the two bytes that each attribute's value begins with.
        bool IsHidden(TypeDefinition type) => type.GetCustomAttributes().Select(metadata.GetCustomAttribute).Any(attribute =>
            attribute.Constructor.Kind == HandleKind.MemberReference && metadata.GetMemberReference((MemberReferenceHandle)attribute.Constructor).Parent is { Kind: HandleKind.TypeReference } parent
            && metadata.GetString(metadata.GetTypeReference((TypeReferenceHandle)parent).Name) == "EditorBrowsableAttribute" && metadata.GetBlobBytes(attribute.Value)[2] == 1);

        string Name(TypeDefinition type) =>
            (type.IsNested ? Name(metadata.GetTypeDefinition(type.GetDeclaringType())) : metadata.GetString(type.Namespace)) + "." + metadata.GetString(type.Name).Replace('`', '-');
    }
}
