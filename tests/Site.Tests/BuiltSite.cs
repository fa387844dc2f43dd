using AngleSharp.Html.Dom;
using AngleSharp.Html.Parser;
using Freehold.Compare;

namespace Freehold.Site.Tests;

/// <summary>The site, built once for all tests by eng/site.sh into artifacts/site-tests, with a report whose figures nobody has measured.</summary>
public sealed class BuiltSite
{
    public const string ReportHeading = "Freehold beside the stock collectors";

    private readonly Lazy<Dictionary<string, IHtmlDocument>> _pages;

    public BuiltSite()
    {
        var report = Path.Combine(Repository.Root, "artifacts", "site-tests.report");
        Directory.CreateDirectory(report);
        WriteReport(report);
        Folder = Path.Combine(Repository.Root, "artifacts", "site-tests");
        (var exitCode, Output) = Repository.Run("eng/site.sh", "--output", Folder, "--report", report);
        if (exitCode != 0)
        {
            throw new InvalidOperationException("eng/site.sh failed:\n" + Output);
        }

        _pages = new(() => Directory.EnumerateFiles(Folder, "*.html", SearchOption.AllDirectories)
            .ToDictionary(file => Path.GetRelativePath(Folder, file), file => new HtmlParser().ParseDocument(File.ReadAllText(file)), StringComparer.Ordinal));
    }

    public string Folder { get; }

    /// <summary>What the build said.</summary>
    public string Output { get; }

    /// <summary>Every page, by its path. Readers change nothing.</summary>
    public IReadOnlyDictionary<string, IHtmlDocument> Pages => _pages.Value;

    /// <summary>A report of the same parts as that of benchmarks/Compare: a title, paragraphs, tables wider than a telephone, a picture.</summary>
    private static void WriteReport(string folder)
    {
        var table = new Table(["cell", "heap", "runs", .. Enumerable.Range(1, 12).Select(column => $"value {column}")]);
        foreach (var heap in new[] { "workstation", "server", "freehold" })
        {
            table.Add(["made up for a test", heap, 3, .. Enumerable.Range(1, 12).Select(column => (object)(column * 111.5))]);
        }

        File.Copy(Path.Combine(Repository.Root, "tests", "Site.Tests", "chart.png"), Path.Combine(folder, "made up.png"), overwrite: true);
        File.WriteAllText(Path.Combine(folder, "report.html"),
            $"<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Freehold: figures</title>\n<style>td{{color:red}}</style>\n<h1>{ReportHeading}</h1>\n"
            + Markdown.ToHtml($"No figure here was measured: a < b & `c_d_e`.\n\n## Made up: throughput\n\n![throughput](made up.png)\n\n{table.ToMarkdown()}\n") + "</html>\n");
    }
}
