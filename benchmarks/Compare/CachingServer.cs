namespace Freehold.Compare;

/// <summary>The cache of the suite 'caching' behind Kestrel, under load by wrk.</summary>
internal sealed class CachingServer(Options options, Publisher publisher, Bars bars)
{
    public string Run()
    {
        var programs = publisher.Publish("Caching", Variant.ServerWithoutDatas);
        var run = new ServerRun(options, "Caching/load.lua");
        List<Cell> cells = [];
        foreach (var (keys, expiry) in options.Quick ? [(1_000_000, 2)] : new[] { (1_000_000, 2), (1_000_000, 5), (10_000_000, 5) })
        {
            var cell = new Cell($"{keys / 1_000_000} M keys, {expiry} s", Beside.Time);
            cells.Add(cell);
            for (var i = 0; i < options.Repetitions; i++)
            {
                Log.Progress($"caching-server: {cell.Name}, round {i + 1} of {options.Repetitions}");
                cell.Measure(programs, (program, variant) => run.Measure(program, variant, ["--serve", "1", "--keys", $"{keys}", "--expiry", $"{expiry}000"], $"{keys}"));
            }
        }

        var beside = new Beside(options, "caching-server", cells);
        beside.AddBars(bars);
        return $"## Caching behind Kestrel\n\nGET of a value out of the cache of the suite 'caching', or else put there; exponentially distributed keys. wrk, one thread, {ServerRun.Connections} connections, {options.Seconds} s. "
            + "Load and server share the processors.\n\n" + beside.Write();
    }
}
