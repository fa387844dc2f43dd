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
        new("compiler-like", "CompilerLike", "Compiler-like",
            "Parses, binds and emits the C# sources of src/ (of the commit that is measured) at once, on each thread; what a compilation makes dies with it, with Freehold in a scope. ns for each token; how long a compilation takes.",
            quick => [.. (quick ? new[] { 1 } : [1, 2]).Select(threads => ($"{threads} thread{(threads == 1 ? "" : "s")}", (string[])["--threads", $"{threads}", "--compilations", quick ? "10" : "40"]))],
            [("p50_us", "p50 µs"), ("max_us", "longest µs"), ("skipped_tokens", "tokens passed over")]),
        new("dataflow", "Dataflow", "Dataflow",
            "A stream of documents and one of authors, in epochs: the sum of the lengths by author, the documents grouped by author, and documents joined with authors over windows. Operators free the batches that they have used, and their state; ns for each document.",
            DataflowCells, [("findings", "results")]),
        new("key-value-store", "KeyValueStore", "Key-value store",
            "Puts of random keys, then as many gets over the whole key space; an index in memory, an object for each key; values of 16 to 240 bytes in a log on disk. Two threads, each with its part; ns for each operation.",
            quick => [(quick ? "2 M puts and gets" : "20 M puts and gets", ["--keys", quick ? "2000000" : "20000000", "--operations", quick ? "2000000" : "20000000"])],
            [("ns_per_put", "ns a put"), ("ns_per_get", "ns a get"), ("keys_at_end", "keys")]),
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

    private static (string Name, string[] Arguments)[] DataflowCells(bool quick)
    {
        var documents = quick ? 100_000 : 500_000;
        var epochs = quick ? "10" : "20";
        return
        [
            .. (quick ? new[] { documents } : [100_000, documents]).Select(size => ($"sums, epochs of {size:N0}", (string[])["--query", "1", "--documents", $"{size}", "--epochs", epochs])),
            ($"groups, epochs of {documents:N0}", ["--query", "2", "--documents", $"{documents}", "--epochs", epochs]),
            .. (quick ? new[] { 2 } : [1, 4, 8]).Select(window => ($"join, epochs of 100,000, window of {window}", (string[])["--query", "3", "--documents", "100000", "--epochs", epochs, "--window", $"{window}"])),
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
