namespace Freehold.Site.Tests;

/// <summary>What site/Stage makes of a small repository, and what it refuses.</summary>
public sealed class StagingTests : IDisposable
{
    private const string Readme = "# Name\n\nIt does this.\n\n## Why\n\n| | ours | theirs |\n| --- | --- | --- |\n| time | 5 s | 1,000 s |\n\nMeasured.\n\n## More\n\n[docs](docs/README.md)\n";

    private readonly string _root = Directory.CreateTempSubdirectory("freehold-site-").FullName;

    public StagingTests()
    {
        Put("README.md", Readme);
        Put("docs/README.md", "# Documentation\n\n| to use it | |\n| --- | --- |\n| [A guide](guide.md) | how |\n| [Parts](parts/README.md) | what |\n");
        Put("docs/guide.md", "# Guide\n\n[install](../README.md#more), [code](../src/a.cs), [folder](../src/sub), [with a page](../src), [out](https://example.org)\n\n```md\n[not a link](nowhere.md)\n```\n");
        Put("docs/parts/README.md", "# Parts\n\n| part | |\n| --- | --- |\n| [one](one.md) | 1 |\n| [the guide](../guide.md) | listed elsewhere |\n");
        Put("docs/parts/one.md", "# Part `one`\n");
        Put("src/README.md", "# Sources\n");
        Put("src/a.cs", "var fence = \"```\";\n");
        Put("src/sub/b.txt", "b\n");
        Put("src/sub/bin/made.txt", "made\n");
        foreach (var page in new[] { "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "benchmarks/README.md", "docs/tutorial.md", "docs/performance.md" })
        {
            Put(page, "# Page\n");
        }

        Put("docs/README.md", Get("docs/README.md") + "| [Tutorial](tutorial.md) | |\n| [Performance](performance.md) | |\n");
    }

    public void Dispose() => Directory.Delete(_root, recursive: true);

    [Fact]
    public void LinksLeadToPagesOfTheSite()
    {
        Stage();
        Assert.Equal(
            "# Guide\n\n[install](../index.md#more), [code](../src/a.cs.md), [folder](../src/sub/index.md), [with a page](../src/README.md), [out](https://example.org)\n\n```md\n[not a link](nowhere.md)\n```\n",
            Get("out/docs/guide.md"));
    }

    [Fact]
    public void ASourceFileIsAPageWithItsText()
    {
        Stage();
        Assert.EndsWith("# src/a.cs\n\n````csharp\nvar fence = \"```\";\n````\n", Get("out/src/a.cs.md"), StringComparison.Ordinal);
    }

    [Fact]
    public void AFolderIsAListOfItsFilesWithoutWhatABuildMade()
    {
        Stage();
        Assert.EndsWith("# src/sub\n\n- [b.txt](b.txt.md)\n", Get("out/src/sub/index.md"), StringComparison.Ordinal);
        Assert.True(File.Exists(Path.Combine(_root, "out/src/sub/b.txt.md")));
    }

    [Fact]
    public void TheContentsAreTheTablesOfTheReadmes()
    {
        Stage();
        Assert.Equal(
            "- name: \"To use it\"\n  items:\n  - name: \"A guide\"\n    href: \"guide.md\"\n  - name: \"Parts\"\n    href: \"parts/README.md\"\n    items:\n    - name: \"Part one\"\n      href: \"parts/one.md\"\n"
            + "  - name: \"Tutorial\"\n    href: \"tutorial.md\"\n  - name: \"Performance\"\n    href: \"performance.md\"\n",
            Get("out/docs/toc.yml"));
    }

    [Fact]
    public void TheFirstPageHasTheFiguresOfTheReadme()
    {
        Stage();
        var page = Get("out/index.md");
        Assert.Contains("<h3>time</h3>\n<dl>\n<dt>ours</dt><dd><span class=\"bar\" style=\"width:0.5%\"></span><b>5 s</b></dd>\n<dt>theirs</dt><dd><span class=\"bar\" style=\"width:100%\"></span><b>1,000 s</b></dd>", page, StringComparison.Ordinal);
        Assert.Contains("\nMeasured.\n", page, StringComparison.Ordinal);
        Assert.EndsWith("## More\n\n[docs](docs/README.md)\n\n", page, StringComparison.Ordinal);
    }

    [Fact]
    public void WithoutAReportItsPageSaysHowToMakeOne()
    {
        Stage();
        Assert.Contains("`./build.sh bench`", Get("out/report.md"), StringComparison.Ordinal);
    }

    [Fact]
    public void AReportKeepsItsTextAndTablesAndPictures()
    {
        Put("bench/report.html", "<!doctype html>\n<h1>All <i>figures</i></h1>\n<h2>Goal</h2>\n<p>a &lt; b <code>c_d_e</code></p>\n<table>\n\n<tr><th>x</th></tr>\n</table>\n<p><img src=\"a b.png\" alt=\"x\"></p>\n");
        Put("bench/a b.png", "picture");
        Stage();
        Assert.EndsWith(
            "# All figures\n\n## Goal\n\n<div class=\"report\"><p>a &lt; b <code>c_d_e</code></p></div>\n\n<div class=\"report\"><table class=\"table table-bordered table-sm\">  <tbody><tr><th>x</th></tr> </tbody></table></div>\n\n<div class=\"report\"><p><img src=\"report/a%20b.png\" alt=\"x\"></p></div>\n\n",
            Get("out/report.md"), StringComparison.Ordinal);
        Assert.Equal("picture", Get("out/report/a b.png"));
    }

    [Theory]
    [InlineData("docs/guide.md", "# Guide\n\n[gone](gone.md)\n", "docs/guide.md(3): 'gone.md' leads nowhere")]
    [InlineData("docs/guide.md", "# Guide\n\n| a |\n| --- |\n| [gone](../src/gone.cs) |\n", "docs/guide.md(5): '../src/gone.cs' leads nowhere")]
    [InlineData("docs/guide.md", "[out](../../etc/passwd)\n", "docs/guide.md(1): '../../etc/passwd' leads nowhere")]
    [InlineData("docs/guide.md", "[a][1]\n\n[1]: parts/one.md\n", "docs/guide.md(1): write the address into the link, '[text](address)'")]
    [InlineData("docs/forgotten.md", "# Forgotten\n", "no table of docs/README.md, docs/internals/README.md or docs/analyzers/README.md lists docs/forgotten.md")]
    [InlineData("docs/README.md", "# D\n\n| a | |\n| --- | --- |\n| [x](guide.md) | |\n| [y](guide.md) | |\n", "docs/README.md lists docs/guide.md twice")]
    [InlineData("README.md", "# Name\n\nText.\n\n## Why\n\nNo table.\n", "README.md: '## Why' has no table of figures")]
    [InlineData("README.md", "# Name\n\nText.\n\n## Why\n\n| | ours | theirs |\n| --- | --- | --- |\n| time | fast | 1 s |\n", "README.md: 'fast' in the table of figures does not begin with a number")]
    [InlineData("README.md", "# Name\n\nText.\n", "README.md: there is no '## Why'")]
    [InlineData("README.md", "Text.\n", "README.md: a title and a paragraph must be what it begins with")]
    public void WhatIsWrongIsNamed(string file, string text, string message)
    {
        Put(file, text);
        Assert.Equal(message, Assert.Throws<SiteException>(Stage).Message);
    }

    [Fact]
    public void APictureThatTheReportLacksIsNamed()
    {
        Put("bench/report.html", "<h1>Figures</h1><img src=\"gone.png\">");
        Assert.EndsWith("report.html: the picture 'gone.png' is not there", Assert.Throws<SiteException>(Stage).Message, StringComparison.Ordinal);
    }

    private void Stage() => new Staging(new PageFiles(_root), Path.Combine(_root, "out"), Path.Combine(_root, "bench")).Write();

    private void Put(string file, string text)
    {
        Directory.CreateDirectory(Path.GetDirectoryName(Path.Combine(_root, file))!);
        File.WriteAllText(Path.Combine(_root, file), text);
    }

    private string Get(string file) => File.ReadAllText(Path.Combine(_root, file));
}
