namespace Freehold.Compare;

/// <summary>Allocate and delete in every cell, and the cost model beside the cells that it covers.</summary>
internal sealed class AllocateDelete(Options options, Publisher publisher, Bars bars)
{
    private const int FewestInFlight = 1_000;

    private sealed record Cell(string Order, int Threads, int Size, int InFlight)
    {
        /// <summary>Enough for a second or so, and for several generations of the objects in flight.</summary>
        public long Pairs(bool quick) =>
            Math.Max((Size switch { 24 or 64 => 40_000_000, 256 => 16_000_000, _ => 6_000_000 }) / (quick ? 2 : 1), 4L * InFlight);

        public override string ToString() => $"{Order} {Threads} thread{(Threads == 1 ? "" : "s")} {Size} B {InFlight:N0} in flight";
    }

    private sealed record Result(Cell Cell, Dictionary<Variant, List<Measurement>> Runs, List<double> Model)
    {
        public double Of(Variant variant, string name = "ns_per_pair") =>
            Runs.TryGetValue(variant, out var runs) ? Measurement.Summarise(runs, name).Median : double.NaN;

        public double LeastOf(Variant variant) =>
            Runs.TryGetValue(variant, out var runs) ? Measurement.Summarise(runs, "ns_per_pair").Minimum : double.NaN;

        public Variant Better => Of(Variant.Server) < Of(Variant.Workstation) ? Variant.Server : Variant.Workstation;

        public double BetterStock => new[] { Of(Variant.Workstation), Of(Variant.Server) }.Where(ns => !double.IsNaN(ns)).DefaultIfEmpty(double.NaN).Min();

        /// <summary>Bytes that a collector lets a program allocate before it looks at them: what the process grows by when next to nothing lives.</summary>
        public double Nursery(Variant variant) => Of(variant, "peak_resident_bytes") - Of(variant, "start_resident_bytes");

        public double ModelNanoseconds => Model.Count == 0 ? double.NaN : Model.Order().ElementAt(Model.Count / 2);

        public double Gain => BetterStock / Of(Variant.Freehold);

        public double ToModel => Of(Variant.Freehold) / ModelNanoseconds;

        public double Rest(Variant variant) => Of(variant, "end_resident_bytes") / Of(variant, "start_resident_bytes");
    }

    public string Run()
    {
        var programs = publisher.Publish("AllocateDelete");
        var model = Command.CompileModel(options, "recycle_model");
        var results = new List<Result>();
        var cells = Cells().ToArray();
        foreach (var cell in cells)
        {
            Log.Progress($"allocate-delete: cell {results.Count + 1} of {cells.Length}: {cell}");
            results.Add(Measure(cell, programs, model));
        }

        AddBars(results);
        return Write(results);
    }

    private IEnumerable<Cell> Cells()
    {
        string[] orders = options.RandomOrder ? ["fifo", "lifo", "random"] : ["fifo", "lifo"];
        int[] threads = options.Quick ? [1] : [1, 2];
        int[] sizes = options.Quick ? [64] : [24, 64, 256, 1000];
        int[] inFlight = [FewestInFlight, 100_000, 2_000_000];
        return
            from order in orders
            from thread in threads
            from size in sizes
            from number in inFlight
            select new Cell(order, thread, size, number);
    }

    private Result Measure(Cell cell, Dictionary<Variant, string> programs, string? model)
    {
        var result = new Result(cell, programs.Keys.ToDictionary(variant => variant, _ => new List<Measurement>()), []);
        for (var i = 0; i < options.Repetitions; i++)
        {
            foreach (var (variant, program) in Turns.Of(programs, i))
            {
                try
                {
                    result.Runs[variant].Add(Command.Measure(program, variant, mayFail: false,
                        "--order", cell.Order, "--threads", $"{cell.Threads}", "--size", $"{cell.Size}",
                        "--in-flight", $"{cell.InFlight}", "--pairs", $"{cell.Pairs(options.Quick)}"));
                }
                catch (InvalidOperationException e)
                {
                    Log.Failure(e.Message);
                }
            }

            if (model is not null && cell is { Order: "fifo", Threads: 1, Size: 64 })
            {
                var text = Command.RunOrThrow(model, $"{cell.InFlight}");
                result.Model.Add(double.Parse(text.Split(": ")[1].Split(' ')[0], System.Globalization.CultureInfo.InvariantCulture));
            }
        }

        return result;
    }

    private void AddBars(List<Result> results)
    {
        bars.Add("allocate-delete: stock / Freehold, every cell, at least 1", 1, true,
            results.Where(r => r.Cell.Order != "random").Select(r => (r.Cell.ToString(), r.Gain)));
        bars.Add("allocate-delete: stock / Freehold where the objects in flight outgrow that stock's nursery, at least 3", 3, true,
            results.Where(r => r.Cell.Order != "random" && OutgrowsNursery(results, r)).Select(r => (r.Cell.ToString(), r.Gain)));
        bars.Add("allocate-delete: time, Freehold on net10.0 / on net9.0, every cell, least of the runs, at most 1.05", 1.05, false,
            results.Where(r => r.Cell.Order != "random").Select(r => (r.Cell.ToString(), r.LeastOf(Variant.Freehold) / r.LeastOf(Variant.OtherFramework))));
        bars.Add("allocate-delete: Freehold / model, first in first out, at most 1.5", 1.5, false,
            results.Select(r => (r.Cell.ToString(), r.ToModel)));
        bars.Add("allocate-delete: resident after deleting everything / start, at most 1.1", 1.1, false,
            results.Where(r => r.Cell.Order != "random").Select(r => (r.Cell.ToString(), r.Rest(Variant.Freehold))));
    }

    /// <summary>Whether the objects in flight take more than the nursery of the collector that is the better one there. It follows the caches' size: 84 MB where these are large.</summary>
    private static bool OutgrowsNursery(List<Result> results, Result result)
    {
        var least = results.Single(r => r.Cell == result.Cell with { InFlight = FewestInFlight });
        return (double)result.Cell.InFlight * result.Cell.Size > least.Nursery(result.Better);
    }

    private string Write(List<Result> results)
    {
        var csv = new Table(
            "order", "threads", "size", "in_flight", "heap", "runs", "ns_per_pair_min", "ns_per_pair_median", "gc_pause_s", "cpu_s",
            "start_resident", "peak_resident", "end_resident", "collected_resident", "model_ns");
        var table = new Table(
            "order", "threads", "bytes", "in flight", "workstation ns", "server ns", "Freehold ns", "(min)", "better stock / Freehold", "model ns", "Freehold / model",
            "peak MB workstation", "server", "Freehold", "Freehold start MB", "end MB", "end / start");
        foreach (var result in results)
        {
            var cell = result.Cell;
            foreach (var (variant, runs) in result.Runs)
            {
                csv.Add(cell.Order, cell.Threads, cell.Size, cell.InFlight, variant.Heap, runs.Count, result.LeastOf(variant), result.Of(variant),
                    result.Of(variant, "gc_pause_seconds"), result.Of(variant, "processor_seconds"), result.Of(variant, "start_resident_bytes"),
                    result.Of(variant, "peak_resident_bytes"), result.Of(variant, "end_resident_bytes"), result.Of(variant, "collected_resident_bytes"), result.ModelNanoseconds);
            }

            table.Add(cell.Order, cell.Threads, cell.Size, cell.InFlight, result.Of(Variant.Workstation), result.Of(Variant.Server),
                result.Of(Variant.Freehold), result.LeastOf(Variant.Freehold), result.Gain, result.ModelNanoseconds, result.ToModel,
                Megabytes(Variant.Workstation), Megabytes(Variant.Server), Megabytes(Variant.Freehold), result.Of(Variant.Freehold, "start_resident_bytes") / 1e6, result.Of(Variant.Freehold, "end_resident_bytes") / 1e6, result.Rest(Variant.Freehold));

            double Megabytes(Variant variant) => result.Of(variant, "peak_resident_bytes") / 1e6;
        }

        csv.WriteCsv(Path.Combine(options.Output, "allocate-delete.csv"));
        return "## Allocate and delete\n\nns for each pair and thread, median (objects initialised, checked, and deleted or dropped; the first quarter is not timed); resident memory at the end is measured one second after everything was deleted.\n\n" + table.ToMarkdown();
    }
}
