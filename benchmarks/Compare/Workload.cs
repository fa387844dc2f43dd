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
        bars.Add($"{workload}: time, Freehold / C++ with the fastest malloc, at most 1.1", 1.1, false, cells.Select(cell => (cell.Name, cell.Time(Variant.Freehold) / FastestNative(cell))));
        AddStallBar(bars, workload, cells);
    }

    public static double FastestNative(Cell cell) => Variant.Natives.Select(cell.Time).Where(time => !double.IsNaN(time)).DefaultIfEmpty(double.NaN).Min();

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
    /// <param name="more">Values that only these programs report, for the CSV and the report page.</param>
    public static string Write(Options options, string file, string time, List<Cell> cells, params string[] more)
    {
        string[] values =
        [
            time, "peak_resident_bytes", "steady_resident_bytes", "longest_stall_ms", "longest_stall_with_processor_ms", "stalls", "gc_pause_seconds", "processor_seconds", .. more,
        ];
        Measured.Add(file, time, values, cells);
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
        return table.ToMarkdown() + NativeTable(cells) + Plot.WriteAll(options, file, cells);
    }

    /// <summary>Freehold beside the native peers, where they ran.</summary>
    private static string NativeTable(List<Cell> cells)
    {
        var table = new Table(
            "", "malloc", "its ns", "Freehold ns", "malloc / Freehold", "peak MB malloc", "Freehold", "Freehold / malloc", "longest stall ms malloc", "(min)");
        var measured = cells.SelectMany(cell => cell.Variants.Where(variant => variant.Variant.IsNative).Select(variant => (Cell: cell, variant.Variant))).ToList();
        foreach (var (cell, native) in measured)
        {
            table.Add(
                cell.Name, native.Heap, cell.Time(native), cell.Time(Variant.Freehold), ToNative(cell, native),
                cell.Megabytes(native, "peak_resident_bytes"), cell.Megabytes(Variant.Freehold, "peak_resident_bytes"), PeakToNative(cell, native),
                cell.Median(native, "longest_stall_ms"), cell.Least(native, "longest_stall_ms"));
        }

        var means = string.Join("; ", measured.GroupBy(pair => pair.Variant).Select(peer => FormattableString.Invariant(
            $"{peer.Key.Heap}: its time / Freehold's {Measured.Mean(peer.Select(pair => ToNative(pair.Cell, pair.Variant))):F2}, Freehold's peak / its peak {Measured.Mean(peer.Select(pair => PeakToNative(pair.Cell, pair.Variant))):F2}")));
        return measured.Count == 0 ? "" : $"""

            The same work in C++, geometric means. {means}.

            {table.ToMarkdown()}
            """;

        static double ToNative(Cell cell, Variant native) => cell.Time(native) / cell.Time(Variant.Freehold);

        static double PeakToNative(Cell cell, Variant native) => cell.Megabytes(Variant.Freehold, "peak_resident_bytes") / cell.Megabytes(native, "peak_resident_bytes");
    }

    private static double Mean(List<Cell> cells, Func<Cell, double> value) => Measured.Mean(cells.Select(value));
}
