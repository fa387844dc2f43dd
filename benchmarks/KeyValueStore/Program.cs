namespace Freehold.Benchmarks.KeyValueStore;

internal static class Program
{
    private const string Help = """
        KeyValueStore [short|full] [--keys N] [--operations N] [--threads N]
        So many puts of random keys, then as many gets over the whole key space. The index is in memory, an object for each key; the values, 16 to 240 bytes, are in a log on disk (in TMPDIR). Each thread has its part.
        """;

    public static int Main(string[] args)
    {
        var options = Arguments.Parse(
            "KeyValueStore", Help, args,
            new() { ["--keys"] = 20_000_000, ["--operations"] = 20_000_000, ["--threads"] = 2 },
            new() { ["--keys"] = 200_000, ["--operations"] = 400_000 });
        if (options is null)
        {
            return 2;
        }

        var all = (int)options["--threads"];
        var each = options["--operations"] / all;
        var clients = Enumerable.Range(1, all).Select(i => new Client((int)options["--keys"] / all, each, (ulong)i * 88172645463325252)).ToArray();
        var watch = new Watch();
        var progress = new Progress("KeyValueStore: puts of the first thread", each);
        Workers.Run(clients, client => client.Put(client == clients[0] ? progress : null));
        progress.End();
        Report.Write("built_resident_bytes", ProcessMemory.Resident);
        progress = new Progress("KeyValueStore: gets of the first thread", each);
        Workers.Run(clients, client => client.Get(client == clients[0] ? progress : null));
        progress.End();
        watch.Stop();
        var (put, get) = (clients.Max(client => client.PutSeconds), clients.Max(client => client.GetSeconds));
        Report.Write("ns_per_operation", (put + get) * 1e9 / (2 * each * all));
        Report.Write("ns_per_put", put * 1e9 / (each * all));
        Report.Write("ns_per_get", get * 1e9 / (each * all));
        Report.Write("keys_at_end", clients.Sum(client => client.Count));
        Report.Write("hit_percent", 100.0 * clients.Sum(client => client.Hits) / (each * all));
        Report.Write("bytes_on_disk", clients.Sum(client => client.Bytes));
        Report.WriteStalls([.. clients.SelectMany(client => client.Clocks)]);
        Report.Write("checksum", clients.Aggregate(0ul, (sum, client) => (sum * 31) + client.Checksum) % 1_000_000_007);
        foreach (var client in clients)
        {
            client.Dispose();
        }

        Report.WriteHeap();
        return 0;
    }
}
