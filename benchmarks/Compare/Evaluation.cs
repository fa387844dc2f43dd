namespace Freehold.Compare;

/// <summary>A measured program that runs to its end with each of its sets of arguments, and deletes where a user of Freehold would.</summary>
/// <param name="Suite">Its name on the command line.</param>
/// <param name="Project">Its folder.</param>
/// <param name="Title">Heading of its section.</param>
/// <param name="Text">What it does.</param>
/// <param name="Cells">Name and arguments of each cell, the quick one or all.</param>
/// <param name="More">What it reports beside what all do, as columns: name of the value, and of the column.</param>
/// <param name="HasNative">Whether there is a native.cpp beside it.</param>
internal sealed record Evaluation(
    string Suite, string Project, string Title, string Text, Func<bool, (string Name, string[] Arguments)[]> Cells, (string Value, string Column)[] More, bool HasNative = false)
{
    private const string Time = "ns_per_operation";

    public static readonly Evaluation[] All =
    [
        new("random-graph", "RandomGraph", "Random graph",
            "Each vertex has a payload, edges to 4 others, and an array of references to those that lead to it. A random vertex is replaced, 10 million times, and its neighbours patched; ns for each.",
            quick => [.. (quick ? new[] { 1 } : [1, 4, 8]).Select(millions => ($"{millions} M vertices", (string[])["--vertices", $"{millions}000000", "--replacements", quick ? "2000000" : "10000000"]))],
            [("build_seconds", "build s")], HasNative: true),
        new("caching", "Caching", "Caching",
            "Microsoft.Extensions.Caching.Memory in the process: clients get values of 16 to 1024 bytes, or else put them. The keys are exponentially distributed, and what nobody reads for some seconds expires; ns for each get.",
            CachingCells, [("hit_percent", "hits %"), ("p99_us", "p99 µs"), ("p999_us", "p99.9 µs"), ("max_us", "longest get µs")]),
        new("game-loop", "GameLoop", "Game loop",
            "A frame every 4 ms: actors, projectiles and contacts; a second thread loads and unloads parts of the world. ns of work in a frame; when a frame was done, after it was due; how many were not done when the next was due.",
            quick => [(quick ? "10 s" : "60 s", ["--frames", quick ? "2500" : "15000"])],
            [("p50_us", "p50 µs"), ("p99_us", "p99 µs"), ("p999_us", "p99.9 µs"), ("max_us", "latest frame µs"), ("missed_frames", "frames missed")]),
    ];

    /// <summary>Runs every cell on every heap, in turn.</summary>
    public string Run(Options options, Publisher publisher, Bars bars)
    {
        var programs = HasNative ? publisher.PublishWithNative(Project, Variant.ServerWithoutDatas) : publisher.Publish(Project, Variant.ServerWithoutDatas);
        List<Cell> cells = [];
        var all = Cells(options.Quick);
        foreach (var (name, arguments) in all)
        {
            var cell = new Cell(name, Time);
            cells.Add(cell);
            for (var i = 0; i < options.Repetitions; i++)
            {
                Log.Progress($"{Suite}: {name} (cell {cells.Count} of {all.Length}), round {i + 1} of {options.Repetitions}");
                cell.Measure(programs, arguments);
            }
        }

        Workload.AddBars(bars, Suite, cells);
        return $"## {Title}\n\n{Text} Medians.\n\n" + Workload.Write(options, Suite, Time, cells, [.. More.Select(more => more.Value)]) + MoreTable(cells);
    }

    private static (string Name, string[] Arguments)[] CachingCells(bool quick)
    {
        (int Millions, int Seconds, int Clients)[] cells = quick ? [(1, 2, 2)] : [(1, 2, 1), (1, 2, 2), (1, 2, 4), (1, 2, 8), (1, 5, 2), (10, 2, 2), (10, 5, 2)];
        return
        [
            .. cells.Select(cell => (
                $"{cell.Millions} M keys, {cell.Seconds} s, {cell.Clients} client{(cell.Clients == 1 ? "" : "s")}",
                (string[])["--keys", $"{cell.Millions}000000", "--expiry", $"{cell.Seconds}000", "--clients", $"{cell.Clients}", "--operations", quick ? "10000000" : "40000000"])),
        ];
    }

    private string MoreTable(List<Cell> cells)
    {
        var table = new Table(["", "heap", .. More.Select(more => more.Column)]);
        foreach (var cell in cells)
        {
            foreach (var (variant, _) in cell.Variants.Where(variant => !variant.Variant.IsNative))
            {
                table.Add([cell.Name, variant.Heap, .. More.Select(more => (object)cell.Median(variant, more.Value))]);
            }
        }

        return "\n" + table.ToMarkdown();
    }
}
