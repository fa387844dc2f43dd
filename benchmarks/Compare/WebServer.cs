using System.Diagnostics;
using System.Globalization;

namespace Freehold.Compare;

/// <summary>A web server that deletes nothing, under load by wrk.</summary>
internal sealed class WebServer(Options options, Publisher publisher, Bars bars)
{
    private const int Items = 200_000;
    private const int Connections = 32;

    public string Run()
    {
        var programs = publisher.Publish("WebServer", Variant.ServerWithoutDatas);
        List<Cell> cells = [];
        foreach (var kind in new[] { "plaintext", "json", "put", "mixed" })
        {
            var cell = new Cell(kind, Beside.Time);
            cells.Add(cell);
            for (var i = 0; i < options.Repetitions; i++)
            {
                Log.Progress($"web-server: {kind}, round {i + 1} of {options.Repetitions}");
                cell.Measure(programs, (program, variant) => Measure(program, variant, kind));
            }
        }

        var beside = new Beside(options, "web-server", cells);
        beside.AddBars(bars);
        return $"## Web server\n\nKestrel, a minimal API: a text; JSON of 20 items out of a cache of {Items:N0}; a PUT that replaces one; JSON with every tenth request a PUT. wrk, one thread, {Connections} connections, {options.Seconds} s. "
            + "Load and server share the processors. wrk waits for an answer before it asks again, so that a stall is seen once for each connection.\n\n" + beside.Write();
    }

    private Measurement Measure(string program, Variant variant, string kind)
    {
        var start = new ProcessStartInfo(program, ["--items", $"{Items}"]) { RedirectStandardOutput = true };
        using var server = Process.Start(start)!;
        try
        {
            var port = server.StandardOutput.ReadLine() is { } line && line.StartsWith("port ", StringComparison.Ordinal) ? line[5..] : throw new InvalidOperationException($"{program} has not said its port.");
            Load("2", port, kind);
            using var memory = new MemoryOf(server.Id);
            var load = Command.Values(Load($"{options.Seconds}", port, kind));
            var samples = memory.Stop();
            var proportional = MemoryOf.Proportional(server.Id);
            using (var client = new HttpClient())
            {
                client.GetAsync(new Uri($"http://127.0.0.1:{port}/stop")).GetAwaiter().GetResult().Dispose();
            }

            var output = server.StandardOutput.ReadToEnd();
            server.WaitForExit();
            var measured = Command.Read(output, variant, server.ExitCode, mayFail: false, program);
            foreach (var (name, value) in load)
            {
                measured.Values[name] = value;
            }

            if (load["errors"] != 0)
            {
                throw new InvalidOperationException($"{program}: {load["errors"]} of the requests have failed.");
            }

            measured.Values[Beside.Time] = load["duration_us"] * 1000 / load["requests"];
            measured.Values["steady_pss_bytes"] = proportional;
            measured.Series["memory"] = samples;
            return measured;
        }
        finally
        {
            if (!server.HasExited)
            {
                server.Kill();
            }
        }
    }

    private string Load(string seconds, string port, string kind) => Command.RunOrThrow(
        "wrk", "-t", "1", "-c", Connections.ToString(CultureInfo.InvariantCulture), "-d", seconds + "s", "-s", Path.Combine(options.Root, "benchmarks", "WebServer", "load.lua"), $"http://127.0.0.1:{port}", "--", kind, $"{Items}");
}
