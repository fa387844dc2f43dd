namespace Freehold.Compare;

/// <summary>A web server that deletes nothing, under load by wrk.</summary>
internal sealed class WebServer(Options options, Publisher publisher, Bars bars)
{
    private const int Items = 200_000;

    public string Run()
    {
        var programs = publisher.Publish("WebServer", Variant.ServerWithoutDatas);
        var run = new ServerRun(options, "WebServer/load.lua");
        List<Cell> cells = [];
        foreach (var kind in new[] { "plaintext", "json", "put", "mixed" })
        {
            var cell = new Cell(kind, Beside.Time);
            cells.Add(cell);
            for (var i = 0; i < options.Repetitions; i++)
            {
                Log.Progress($"web-server: {kind}, round {i + 1} of {options.Repetitions}");
                cell.Measure(programs, (program, variant) => run.Measure(program, variant, ["--items", $"{Items}"], kind, $"{Items}"));
            }
        }

        var beside = new Beside(options, "web-server", cells);
        beside.AddBars(bars);
        return $"## Web server\n\nKestrel, a minimal API: a text; JSON of 20 items out of a cache of {Items:N0}; a PUT that replaces one; JSON with every tenth request a PUT. wrk, one thread, {ServerRun.Connections} connections, {options.Seconds} s. "
            + "Load and server share the processors. wrk waits for an answer before it asks again, so that a stall is seen once for each connection.\n\n" + beside.Write();
    }
}
