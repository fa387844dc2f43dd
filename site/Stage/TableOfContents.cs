using System.Text;
using System.Text.Json;

namespace Freehold.Site;

/// <summary>
/// The table of contents of the documentation, from docs/README.md: its tables are the parts, the links in their first columns the pages. The pages of docs/internals and
/// docs/analyzers stand below those folders' READMEs, in the order of the tables there, under their own titles.
/// </summary>
internal sealed class TableOfContents(PageFiles files)
{
    private const string Start = "docs/README.md";

    private readonly HashSet<string> _listed = new(StringComparer.Ordinal) { Start };

    /// <exception cref="SiteException">A page of the documentation is in no table, or in two of docs/README.md.</exception>
    public string ToYaml()
    {
        var parts = MarkdownTable.All(files.Read(Start)).Select(table => (table.Heads[0], Pages: FirstColumn(Start, table))).ToList();
        foreach (var (_, page) in parts.SelectMany(part => part.Pages))
        {
            if (!_listed.Add(page))
            {
                throw new SiteException($"{Start} lists {page} twice");
            }
        }

        var yaml = new StringBuilder();
        foreach (var (name, pages) in parts)
        {
            yaml.Append($"- name: {Quoted(char.ToUpperInvariant(name[0]) + name[1..])}\n  items:\n");
            foreach (var (title, page) in pages)
            {
                yaml.Append($"  - name: {Quoted(title)}\n    href: {Quoted(Address(page))}\n");
                var below = Path.GetFileName(page) == "README.md" ? Below(page) : [];
                if (below.Count > 0)
                {
                    yaml.Append("    items:\n");
                    foreach (var other in below)
                    {
                        yaml.Append($"    - name: {Quoted(MarkdownPage.Title(other, files.Read(other)))}\n      href: {Quoted(Address(other))}\n");
                    }
                }
            }
        }

        var missing = files.Below("docs").Where(file => PageFiles.IsMarkdown(file) && !_listed.Contains(file)).ToList();
        return missing.Count == 0 ? yaml.ToString() : throw new SiteException($"no table of docs/README.md, docs/internals/README.md or docs/analyzers/README.md lists {string.Join(", ", missing)}");
    }

    /// <summary>What the tables of a folder's README list, and docs/README.md does not.</summary>
    private List<string> Below(string page) =>
        [.. MarkdownTable.All(files.Read(page)).SelectMany(table => FirstColumn(page, table)).Select(row => row.Page).Where(_listed.Add)];

    private List<(string Title, string Page)> FirstColumn(string page, MarkdownTable table) =>
        [.. table.Rows.SelectMany(row => MarkdownPage.Links(page, row[0])).Select(link => (link.Text, files.Resolve(page, link)))];

    private static string Address(string page) => Path.GetRelativePath("/docs", "/" + page);

    private static string Quoted(string text) => JsonSerializer.Serialize(text);
}
