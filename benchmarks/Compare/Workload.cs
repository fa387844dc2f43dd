namespace Freehold.Compare;

/// <summary>What the whole-program workloads have in common: their bars and their table.</summary>
internal static class Workload
{
    public static void AddBars(Bars bars, string workload, List<Cell> cells)
    {
        bars.Add($"{workload}: throughput, Freehold / better stock, geometric mean, at least 2", 2, true, [("all cells", Mean(cells, cell => cell.Gain))]);
        bars.Add($"{workload}: the same, of the least of the runs", 2, true, [("all cells", Mean(cells, cell => cell.LeastGain))]);
        bars.Add($"{workload}: peak memory, Freehold / that stock, geometric mean, at most 0.5", 0.5, false, [("all cells", Mean(cells, cell => cell.PeakRatio))]);
        bars.Add($"{workload}: time, Freehold on net10.0 / on net9.0, least of the runs, geometric mean, at most 1.05", 1.05, false, [("all cells", Mean(cells, cell => cell.ToOtherFramework))]);
        AddStallBar(bars, workload, cells);
    }

    public static void AddStallBar(Bars bars, string workload, List<Cell> cells)
    {
        bars.Add($"{workload}: longest stall of Freehold, least of the runs, at most 1 ms", 1, false,
            cells.Select(cell => (cell.Name, cell.Least(Variant.Freehold, "longest_stall_ms"))));
        bars.Add($"{workload}: the same without waiting for a processor", 1, false,
            cells.Select(cell => (cell.Name, cell.Least(Variant.Freehold, "longest_stall_with_processor_ms"))));
    }

    /// <summary>Writes the CSV and returns the table in Markdown.</summary>
    /// <param name="options">Where to write.</param>
    /// <param name="file">Name of the CSV, without extension.</param>
    /// <param name="time">The value that says how long the work took.</param>
    /// <param name="cells">The configurations.</param>
    public static string Write(Options options, string file, string time, List<Cell> cells)
    {
        string[] values =
        [
            time, "peak_resident_bytes", "steady_resident_bytes", "longest_stall_ms", "longest_stall_with_processor_ms", "stalls", "gc_pause_seconds", "processor_seconds",
        ];
        var csv = new Table(["cell", "heap", "runs", time + "_min", .. values]);
        var table = new Table(
            "", "workstation ns", "server ns", "Freehold ns", "(min)", "better stock / Freehold", "peak MB workstation", "server", "Freehold", "Freehold / better stock",
            "steady MB workstation", "server", "Freehold", "longest stall ms workstation", "server", "Freehold", "(min)", "(min, with a processor)");
        foreach (var cell in cells)
        {
            foreach (var (variant, count) in cell.Variants)
            {
                csv.Add([cell.Name, variant.Heap, count, cell.Least(variant, time), .. values.Select(value => (object)cell.Median(variant, value))]);
            }

            table.Add([
                cell.Name, .. Variant.All.Select(variant => (object)cell.Time(variant)), cell.Least(Variant.Freehold, time), cell.Gain,
                .. Variant.All.Select(variant => (object)cell.Megabytes(variant, "peak_resident_bytes")), cell.PeakRatio,
                .. Variant.All.Select(variant => (object)cell.Megabytes(variant, "steady_resident_bytes")),
                .. Variant.All.Select(variant => (object)cell.Median(variant, "longest_stall_ms")),
                cell.Least(Variant.Freehold, "longest_stall_ms"), cell.Least(Variant.Freehold, "longest_stall_with_processor_ms"),
            ]);
        }

        csv.WriteCsv(Path.Combine(options.Output, file + ".csv"));
        return table.ToMarkdown() + NativeTable(time, cells);
    }

    /// <summary>Freehold beside the native peer, where that ran.</summary>
    private static string NativeTable(string time, List<Cell> cells)
    {
        var table = new Table(
            "", "malloc ns", "Freehold ns", "malloc / Freehold", "peak MB malloc", "Freehold", "Freehold / malloc", "longest stall ms malloc", "(min)");
        var measured = cells.Where(cell => cell.Variants.Any(variant => variant.Variant == Variant.Native)).ToList();
        foreach (var cell in measured)
        {
            table.Add(
                cell.Name, cell.Time(Variant.Native), cell.Time(Variant.Freehold), ToNative(cell),
                cell.Megabytes(Variant.Native, "peak_resident_bytes"), cell.Megabytes(Variant.Freehold, "peak_resident_bytes"), PeakToNative(cell),
                cell.Median(Variant.Native, "longest_stall_ms"), cell.Least(Variant.Native, "longest_stall_ms"));
        }

        return measured.Count == 0 ? "" : FormattableString.Invariant($"""

            The same work in C++ with malloc and free, geometric means: its time / Freehold's {Mean(measured, ToNative):F2}, Freehold's peak / its peak {Mean(measured, PeakToNative):F2}.

            {table.ToMarkdown()}
            """);

        static double ToNative(Cell cell) => cell.Time(Variant.Native) / cell.Time(Variant.Freehold);

        static double PeakToNative(Cell cell) => cell.Megabytes(Variant.Freehold, "peak_resident_bytes") / cell.Megabytes(Variant.Native, "peak_resident_bytes");
    }

    private static double Mean(List<Cell> cells, Func<Cell, double> value) =>
        Math.Exp(cells.Select(cell => Math.Log(value(cell))).Where(log => !double.IsNaN(log)).DefaultIfEmpty(double.NaN).Average());
}
