using System.Text;
using AngleSharp.Dom;
using AngleSharp.Html.Parser;

namespace Freehold.Site;

/// <summary>The report of <c>./build.sh bench</c> as a page of the site.</summary>
/// <param name="folder">Where report.html and its pictures are.</param>
internal sealed class ReportPage(string folder)
{
    private const string FrontMatter = "---\ntitle: Benchmark report\n_disableToc: true\n_disableNextArticle: true\n---\n";

    private const string Missing = """
        # Benchmark report

        This copy of the site was built without one. `./build.sh bench` makes the [benchmarks](benchmarks/README.md)' report in some hours, and the next `./build.sh site` shows it here.
        The figures that were measured for the documentation are under [performance](docs/performance.md).

        """;

    /// <summary>The page, or one that says how to get a report.</summary>
    /// <param name="putPicture">Is told of each picture: its path in the site, and its file.</param>
    /// <exception cref="SiteException">The report names a picture that is not there.</exception>
    public string ToMarkdown(Action<string, string> putPicture)
    {
        var file = Path.Combine(folder, "report.html");
        if (!File.Exists(file))
        {
            return FrontMatter + Missing;
        }

        var body = new HtmlParser().ParseDocument(File.ReadAllText(file)).Body!;
        foreach (var picture in body.QuerySelectorAll("img"))
        {
            var name = Path.GetFileName(picture.GetAttribute("src") ?? "");
            var source = Path.Combine(folder, name);
            if (!File.Exists(source))
            {
                throw new SiteException($"{file}: the picture '{name}' is not there");
            }

            putPicture($"report/{name}", source);
            picture.SetAttribute("src", $"report/{Uri.EscapeDataString(name)}");
        }

        foreach (var table in body.QuerySelectorAll("table"))
        {
            table.ClassName = "table table-bordered table-sm";
        }

        var page = new StringBuilder(FrontMatter);
        foreach (var part in body.Children)
        {
            // A heading of Markdown gets an anchor, and a place in the page's contents. Anything else stays HTML: a block without an empty line.
            page.Append(part.LocalName is "h1" or "h2" or "h3"
                ? $"{new string('#', part.LocalName[1] - '0')} {part.TextContent.Trim()}\n\n"
                : $"<div class=\"report\">{part.OuterHtml.ReplaceLineEndings(" ")}</div>\n\n");
        }

        return page.ToString();
    }
}
