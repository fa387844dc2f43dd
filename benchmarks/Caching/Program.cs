using System.Diagnostics;

namespace Freehold.Benchmarks.Caching;

internal static class Program
{
    private const string Help = """
        Caching [short|full] [--keys N] [--expiry MS] [--clients N] [--operations N] [--serve 0|1]
        Microsoft.Extensions.Caching.Memory: so many clients get values of 16 to 1024 bytes, or else put them, so often altogether; the keys are exponentially distributed. A value that nobody reads for so long expires.
        --serve 1: behind Kestrel instead, on a port of its own, which it prints; GET /values/K, and GET /stop ends it.
        """;

    public static async Task<int> Main(string[] args)
    {
        var options = Arguments.Parse(
            "Caching", Help, args,
            new() { ["--keys"] = 10_000_000, ["--expiry"] = 5_000, ["--clients"] = 2, ["--operations"] = 40_000_000, ["--serve"] = 0 },
            new() { ["--keys"] = 50_000, ["--expiry"] = 200, ["--clients"] = 2, ["--operations"] = 2_000_000 });
        if (options is null)
        {
            return 2;
        }

        var keys = (int)options["--keys"];
        using var cache = new ValueCache(TimeSpan.FromMilliseconds(options["--expiry"]));
        var watch = new Watch();
        if (options["--serve"] != 0)
        {
            await Server.Run(cache, keys);
            watch.Stop();
            Report.WriteHeap();
            return 0;
        }

        var all = (int)options["--clients"];
        var each = options["--operations"] / all;
        var clients = Enumerable.Range(1, all).Select(i => new Client(keys, each, (ulong)i * 88172645463325252)).ToArray();
        var progress = new Progress("Caching: gets of the first client", each);
        var start = Stopwatch.GetTimestamp();
        Workers.Run(clients, client => client.Run(cache, client == clients[0] ? progress : null));
        var seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        progress.End();
        watch.Stop();
        Report.Write("ns_per_operation", seconds * 1e9 / (each * all));
        Report.Write("hit_percent", 100.0 * clients.Sum(client => client.Hits) / (each * all));
        Report.Write("entries_at_end", cache.Count);
        Report.WriteStalls([.. clients.Select(client => client.Clock)]);
        Report.WriteLatencies([.. clients.SelectMany(client => client.Latencies.ToArray())]);
        Report.Write("checksum", clients.Aggregate(0ul, (sum, client) => sum + client.Checksum) % 1_000_000_007);
        Report.WriteHeap();
        return 0;
    }
}
