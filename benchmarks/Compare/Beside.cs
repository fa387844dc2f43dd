namespace Freehold.Compare;

/// <summary>Programs that delete nothing, on every collector: a row for each heap, plots over time, and the bars.</summary>
internal sealed class Beside(Options options, string suite, List<Cell> cells)
{
    public const string Time = "ns_per_operation";

    private static readonly string[] s_values = [Time, "p50_us", "p99_us", "p999_us", "max_us", "longest_stall_ms", "stalls", "peak_resident_bytes", "steady_pss_bytes", "processor_seconds", "gc_pause_seconds"];

    public void AddBars(Bars bars)
    {
        bars.Add($"{suite}: throughput, Freehold / better stock, at least 1", 1, true, cells.Select(cell => (cell.Name, cell.Gain)));
        bars.Add($"{suite}: time, Freehold / workstation, at most 1", 1, false, cells.Select(cell => (cell.Name, cell.Time(Variant.Freehold) / cell.Time(Variant.Workstation))));
        bars.Add($"{suite}: p99.9, Freehold / the least of stock, at most 1", 1, false, cells.Select(cell => (cell.Name, cell.Median(Variant.Freehold, "p999_us") / LeastOfStock(cell, "p999_us"))));
        bars.Add($"{suite}: longest stall of Freehold, least of the runs, at most 1 ms", 1, false, cells.Select(cell => (cell.Name, cell.Least(Variant.Freehold, "longest_stall_ms"))));
        bars.Add($"{suite}: peak memory, Freehold / workstation, at most 1.2", 1.2, false,
            cells.Select(cell => (cell.Name, cell.Median(Variant.Freehold, "peak_resident_bytes") / cell.Median(Variant.Workstation, "peak_resident_bytes"))));
    }

    /// <summary>Writes CSV and plots, and returns the table in Markdown.</summary>
    public string Write()
    {
        var csv = new Table(["cell", "heap", "runs", .. s_values]);
        var table = new Table(
            "", "heap", "operations/s", "p50 µs", "p99 µs", "p99.9 µs", "longest ms", "longest stall ms", "(min)", "peak RSS MB", "steady PSS MB", "processor s");
        foreach (var cell in cells)
        {
            foreach (var (variant, count) in cell.Variants)
            {
                csv.Add([cell.Name, variant.Heap, count, .. s_values.Select(value => (object)cell.Median(variant, value))]);
                table.Add(
                    cell.Name, variant.Heap, 1e9 / cell.Time(variant), cell.Median(variant, "p50_us"), cell.Median(variant, "p99_us"), cell.Median(variant, "p999_us"), cell.Median(variant, "max_us") / 1e3,
                    cell.Median(variant, "longest_stall_ms"), cell.Least(variant, "longest_stall_ms"), cell.Megabytes(variant, "peak_resident_bytes"), cell.Megabytes(variant, "steady_pss_bytes"),
                    cell.Median(variant, "processor_seconds"));
            }
        }

        Measured.Add(suite, Time, s_values, cells);
        csv.WriteCsv(Path.Combine(options.Output, suite + ".csv"));
        return "Medians. A stall is what held up a thread that sleeps for a millisecond, waits for a processor taken off. Peak memory counts shared pages whole, steady memory counts this process's share at the end of the load.\n\n"
            + table.ToMarkdown() + Plot.WriteAll(options, suite, cells);
    }

    private static double LeastOfStock(Cell cell, string value) =>
        Variant.Stock.Select(stock => cell.Median(stock, value)).Where(number => !double.IsNaN(number)).DefaultIfEmpty(double.NaN).Min();
}
