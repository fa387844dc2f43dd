using System.Globalization;
using System.Text;

namespace Freehold.Compare;

/// <summary>Bars in groups: a group for each cell, a bar for each heap. A PNG by gnuplot.</summary>
internal static class BarChart
{
    /// <summary>False, with a message, without gnuplot or figures.</summary>
    public static bool Write(string file, string title, string axis, Measured suite, Func<Cell, Variant, double> value)
    {
        var variants = suite.Variants.ToList();
        if (variants.Count == 0)
        {
            return false;
        }

        var data = new StringBuilder();
        foreach (var cell in suite.Cells)
        {
            // gnuplot leaves out '?'. A name has no quotes.
            data.Append(CultureInfo.InvariantCulture, $"\"{cell.Name}\" ").AppendJoin(' ', variants.Select(variant => value(cell, variant)).Select(number => double.IsNaN(number) ? "?" : number.ToString("0.###", CultureInfo.InvariantCulture))).Append('\n');
        }

        File.WriteAllText(Path.ChangeExtension(file, ".dat"), data.ToString());
        var script = new StringBuilder();
        script.Append(CultureInfo.InvariantCulture, $"set terminal pngcairo size {Math.Clamp(300 + (suite.Cells.Count * 160), 700, 2400)},520\nset output '{file}'\nset title '{title}' noenhanced\nset ylabel '{axis}'\n");
        script.Append("set style data histograms\nset style histogram clustered gap 1\nset style fill solid 0.85 border -1\nset datafile missing '?'\nset yrange [0:*]\nset xtics rotate by -20 noenhanced\nset key outside\nset grid y\n");
        script.Append("plot ").AppendJoin(", ", variants.Select((variant, i) => $"'{Path.ChangeExtension(file, ".dat")}' using {i + 2}{(i == 0 ? ":xtic(1)" : "")} title '{variant.Heap}' lc {Plot.Colour(variant)}")).Append('\n');
        return Plot.Run(file, script.ToString());
    }
}
