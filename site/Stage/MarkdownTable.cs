namespace Freehold.Site;

/// <summary>A table of Markdown, as the pages here write them: each line begins and ends with '|', and no cell contains one.</summary>
/// <param name="Heads">The cells of the first line.</param>
/// <param name="Rows">The cells of the lines below that of the dashes.</param>
internal sealed record MarkdownTable(IReadOnlyList<string> Heads, IReadOnlyList<IReadOnlyList<string>> Rows)
{
    /// <summary>The tables of a page, in its order.</summary>
    public static IEnumerable<MarkdownTable> All(string text)
    {
        var lines = new List<string>();
        foreach (var line in text.Split('\n').Append(""))
        {
            if (line.StartsWith('|'))
            {
                lines.Add(line);
            }
            else if (lines.Count > 0)
            {
                yield return new MarkdownTable(Cells(lines[0]), [.. lines.Skip(2).Select(Cells)]);
                lines = [];
            }
        }
    }

    private static IReadOnlyList<string> Cells(string line) => line.Trim().Trim('|').Split('|', StringSplitOptions.TrimEntries);
}
