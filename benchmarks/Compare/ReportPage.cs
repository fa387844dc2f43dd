using System.Globalization;
using System.Text;

namespace Freehold.Compare;

/// <summary>artifacts/bench/report.html: the goal, the bars, and for each suite its charts, its plots over time, and each figure with median, least and number of runs.</summary>
internal sealed class ReportPage(Options options, Table machine)
{
    private const string Style = "body{font:15px sans-serif;margin:2em;max-width:110em}table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #bbb;padding:.2em .5em;text-align:left}th{background:#eee}.n{text-align:right}img{max-width:100%}";

    public void Write(Bars bars, List<string> sections)
    {
        var page = new StringBuilder();
        page.Append(CultureInfo.InvariantCulture, $"<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<title>Freehold: figures</title>\n<style>{Style}</style>\n<h1>Freehold beside the stock collectors</h1>\n");
        page.Append(Markdown.ToHtml(FormattableString.Invariant($"{options.Repetitions} runs of each cell on each heap, in turn{(options.Quick ? ", quick mode" : "")}. Of each figure the median, and in parentheses the least of the runs.")));
        page.Append(Markdown.ToHtml($"## Machine and versions\n\n{machine.ToMarkdown()}\n## The goal\n\n{Goal()}\n## Bars\n\n{bars}\n"));
        foreach (var suite in Measured.All)
        {
            page.Append(Markdown.ToHtml(Charts(suite)));
        }

        page.Append(Markdown.ToHtml(string.Join('\n', sections)));
        page.Append("</html>\n");
        File.WriteAllText(Path.Combine(options.Output, "report.html"), page.ToString());
        Log.Line("the report: " + Path.Combine(options.Output, "report.html"));
    }

    /// <summary>At least 2.5 times the throughput of the better collector in at most half its memory, no stall of a millisecond, not behind C++ by more than a tenth.</summary>
    private static string Goal()
    {
        var table = new Table("suite", "cells", "throughput, Freehold / better stock", "peak memory, Freehold / that stock", "longest stall of Freehold, ms", "time, Freehold / C++ with the fastest malloc, worst cell");
        foreach (var suite in Measured.All)
        {
            table.Add(
                suite.Name, suite.Cells.Count, Measured.Mean(suite.Cells.Select(cell => cell.Gain)), Measured.Mean(suite.Cells.Select(cell => cell.PeakRatio)),
                Greatest(suite.Cells.Select(cell => cell.Median(Variant.Freehold, "longest_stall_ms"))),
                Greatest(suite.Cells.Select(cell => cell.Time(Variant.Freehold) / Workload.FastestNative(cell))));
        }

        table.Add(
            "geometric mean of the suites", Measured.All.Sum(suite => suite.Cells.Count), Measured.Mean(Measured.All.Select(suite => Measured.Mean(suite.Cells.Select(cell => cell.Gain)))),
            Measured.Mean(Measured.All.Select(suite => Measured.Mean(suite.Cells.Select(cell => cell.PeakRatio)))), double.NaN, double.NaN);
        return "At least 2.5 times the throughput of the better collector in at most 0.5 of its peak memory, geometric means; no stall of 1 ms that the heap causes; no cell behind C++ by more than 1.1.\n\n" + table.ToMarkdown();
    }

    private string Charts(Measured suite)
    {
        var text = new StringBuilder($"## {suite.Name}: throughput and memory\n");
        Chart("throughput", "operations a second, thousands", suite.Throughput);
        Chart("memory", "peak resident memory, MB", (cell, variant) => cell.Megabytes(variant, "peak_resident_bytes"));
        var table = new Table(["cell", "heap", "runs", .. suite.Values.Prepend(suite.Time).Distinct().Select(value => value.Replace("_bytes", " MB").Replace('_', ' '))]);
        foreach (var cell in suite.Cells)
        {
            foreach (var (variant, count) in cell.Variants)
            {
                table.Add([cell.Name, variant.Heap, count, .. suite.Values.Prepend(suite.Time).Distinct().Select(value => Both(cell, variant, value))]);
            }
        }

        return text.Append('\n').Append(table.ToMarkdown()).Append('\n').ToString();

        void Chart(string name, string axis, Func<Cell, Variant, double> value)
        {
            var file = $"{suite.Name}-{name}.png";
            if (BarChart.Write(Path.Combine(options.Output, file), $"{suite.Name}: {name}", axis, suite, value))
            {
                text.Append(CultureInfo.InvariantCulture, $"\n![{name} of {suite.Name}]({file})\n");
            }
        }
    }

    private static string Both(Cell cell, Variant variant, string value)
    {
        var (median, least) = (cell.Median(variant, value), cell.Least(variant, value));
        // Bytes are for machines; a reader gets MB.
        var scale = value.EndsWith("_bytes", StringComparison.Ordinal) ? 1e6 : 1;
        return double.IsNaN(median) ? "" : string.Create(CultureInfo.InvariantCulture, $"{Table.Round(median / scale)} ({Table.Round(least / scale)})");
    }

    private static double Greatest(IEnumerable<double> values) => values.Where(value => !double.IsNaN(value)).DefaultIfEmpty(double.NaN).Max();
}
