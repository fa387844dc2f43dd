using System.Net;
using System.Text;
using System.Text.RegularExpressions;

namespace Freehold.Compare;

/// <summary>The Markdown that the suites write, as HTML: headings, paragraphs, tables, images, code in a line.</summary>
internal static partial class Markdown
{
    public static string ToHtml(string markdown)
    {
        var html = new StringBuilder();
        var lines = markdown.Split('\n');
        for (var i = 0; i < lines.Length; i++)
        {
            var line = lines[i].Trim();
            if (line.StartsWith('|'))
            {
                html.Append("<table>\n");
                Row(html, line, "th");
                // The row below the heads only says how columns are aligned.
                for (i += 2; i < lines.Length && lines[i].StartsWith('|'); i++)
                {
                    Row(html, lines[i], "td");
                }

                html.Append("</table>\n");
                i--;
            }
            else if (line.StartsWith('#'))
            {
                var level = Math.Min(line.TakeWhile(c => c == '#').Count(), 6);
                html.Append($"<h{level}>{Inline(line[level..].Trim())}</h{level}>\n");
            }
            else if (line.Length != 0)
            {
                html.Append($"<p>{Inline(line)}</p>\n");
            }
        }

        return html.ToString();
    }

    private static void Row(StringBuilder html, string line, string tag)
    {
        html.Append("<tr>");
        foreach (var cell in line.Trim().Trim('|').Split('|').Select(cell => cell.Trim()))
        {
            html.Append($"<{tag}{(Number().IsMatch(cell) ? " class=n" : "")}>{Inline(cell)}</{tag}>");
        }

        html.Append("</tr>\n");
    }

    private static string Inline(string text) =>
        Image().Replace(Code().Replace(WebUtility.HtmlEncode(text), "<code>$1</code>"), "<img src=\"$2\" alt=\"$1\">");

    [GeneratedRegex("`([^`]+)`")]
    private static partial Regex Code();

    [GeneratedRegex(@"!\[([^\]]*)\]\(([^)]+)\)")]
    private static partial Regex Image();

    [GeneratedRegex(@"^[-+]?[0-9.,]+%?( \([0-9.,]+\))?$")]
    private static partial Regex Number();
}
