using System.Globalization;
using System.Text;

namespace Freehold.Compare;

/// <summary>Rows of text: written as CSV, and as a Markdown table.</summary>
internal sealed class Table(params string[] columns)
{
    private readonly List<string[]> _rows = [];

    public void Add(params object?[] cells) =>
        _rows.Add([.. cells.Select(cell => cell switch
        {
            null => "",
            double.NaN => "",
            double number => Round(number),
            _ => Convert.ToString(cell, CultureInfo.InvariantCulture)!,
        })]);

    public void WriteCsv(string path)
    {
        var text = new StringBuilder();
        foreach (var row in _rows.Prepend(columns))
        {
            text.AppendJoin(',', row.Select(Quoted)).Append('\n');
        }

        File.WriteAllText(path, text.ToString());

        // RFC 4180.
        static string Quoted(string cell) => cell.AsSpan().IndexOfAny(',', '"', '\n') < 0 ? cell : $"\"{cell.Replace("\"", "\"\"")}\"";
    }

    public string ToMarkdown()
    {
        var text = new StringBuilder();
        AppendRow(text, columns);
        AppendRow(text, [.. columns.Select((_, i) => IsNumeric(i) ? "---:" : "---")]);
        foreach (var row in _rows)
        {
            AppendRow(text, row);
        }

        return text.ToString();
    }

    private static void AppendRow(StringBuilder text, string[] cells) => text.Append("| ").AppendJoin(" | ", cells).Append(" |\n");

    public static string Round(double number)
    {
        var digits = Math.Abs(number) switch { < 10 => 2, < 100 => 1, _ => 0 };
        return number.ToString("F" + digits, CultureInfo.InvariantCulture);
    }

    private bool IsNumeric(int column) =>
        _rows.All(row => row[column].Length == 0 || double.TryParse(row[column].TrimEnd('%'), CultureInfo.InvariantCulture, out _));
}
