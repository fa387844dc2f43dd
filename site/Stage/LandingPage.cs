using System.Globalization;
using System.Net;
using System.Text;

namespace Freehold.Site;

/// <summary>
/// The first page: README.md, whose first sentence becomes the head and whose table of figures becomes bars. It says nothing that README.md does not say.
/// </summary>
internal static class LandingPage
{
    private const string Why = "## Why";

    /// <exception cref="SiteException">README.md has no title with a paragraph below it, or no table of figures under 'Why'.</exception>
    public static string FromReadme(string readme)
    {
        var sections = readme.Split("\n## ");
        var head = sections[0].Split("\n\n", StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries);
        if (head.Length < 2 || !head[0].StartsWith("# ", StringComparison.Ordinal))
        {
            throw new SiteException("README.md: a title and a paragraph must be what it begins with");
        }

        var why = sections.Skip(1).FirstOrDefault(section => section.StartsWith(Why[3..] + "\n", StringComparison.Ordinal)) ?? throw new SiteException($"README.md: there is no '{Why}'");
        if (MarkdownTable.All(why).FirstOrDefault() is not { Heads.Count: > 2, Rows.Count: > 0 } table)
        {
            throw new SiteException($"README.md: '{Why}' has no table of figures");
        }

        var page = new StringBuilder();
        page.Append(CultureInfo.InvariantCulture, $"---\n_layout: landing\ntitle: {head[0][2..]}\n---\n<div class=\"hero\">\n\n{head[0]}\n\n{string.Join("\n\n", head.Skip(1))}\n\n");
        page.Append("[Tutorial](docs/tutorial.md) [Install](#install) [Documentation](docs/README.md)\n\n</div>\n\n");
        foreach (var section in sections.Skip(1))
        {
            page.Append("## ").Append(section == why ? WithBars(section, table) : section).Append('\n');
        }

        return page.ToString();
    }

    /// <summary>The section with bars for its table: in each row the longest is the whole width.</summary>
    private static string WithBars(string section, MarkdownTable table)
    {
        var lines = section.Split('\n');
        var first = Array.FindIndex(lines, line => line.StartsWith('|'));
        var count = lines.Skip(first).TakeWhile(line => line.StartsWith('|')).Count();
        var bars = new StringBuilder("<div class=\"figures\">\n");
        foreach (var row in table.Rows)
        {
            var numbers = row.Skip(1).Select(Number).ToList();
            bars.Append(CultureInfo.InvariantCulture, $"<section>\n<h3>{WebUtility.HtmlEncode(row[0])}</h3>\n<dl>\n");
            foreach (var (name, text, number) in table.Heads.Skip(1).Zip(row.Skip(1), numbers))
            {
                bars.Append(CultureInfo.InvariantCulture, $"<dt>{WebUtility.HtmlEncode(name)}</dt><dd><span class=\"bar\" style=\"width:{100 * number / numbers.Max():0.#}%\"></span><b>{WebUtility.HtmlEncode(text)}</b></dd>\n");
            }

            bars.Append("</dl>\n</section>\n");
        }

        return string.Join('\n', [.. lines.Take(first), bars.Append("</div>").ToString(), .. lines.Skip(first + count)]);
    }

    /// <summary>'1,186 MB' is 1186.</summary>
    private static double Number(string cell) =>
        double.TryParse(cell.Split(' ')[0], NumberStyles.Number, CultureInfo.InvariantCulture, out var number) && number > 0
            ? number
            : throw new SiteException($"README.md: '{cell}' in the table of figures does not begin with a number");
}
