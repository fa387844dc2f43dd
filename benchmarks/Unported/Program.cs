using System.Collections.Concurrent;
using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.Json;
using System.Text.Json.Serialization;
using Freehold.Benchmarks;

const string Help = """
    Unported [--seconds N] [--threads N] [--cache N]
    A program that knows nothing of Freehold: orders as JSON, read, grouped and summed with LINQ, told of in texts, with tasks that await each other, and a cache of so many reports that are replaced. It deletes nothing.
    """;

var options = Arguments.Parse("Unported", Help, args, new() { ["--seconds"] = 10, ["--threads"] = 2, ["--cache"] = 20_000 });
if (options is null)
{
    return 2;
}

var cache = new ConcurrentDictionary<int, OrderReport>();
var entries = (int)options["--cache"];
for (var i = 0; i < entries; i++)
{
    cache[i] = await Job.Run(i, cache, entries);
}

var stalls = new StallLog();
var sampler = new ResidentSampler();
var start = Stopwatch.GetTimestamp();
var end = start + (options["--seconds"] * Stopwatch.Frequency);
var workers = Enumerable.Range(0, (int)options["--threads"]).Select(number => Task.Run(async () =>
{
    var random = new Random64((ulong)(number + 1) * 88172645463325252);
    var latencies = new List<double>();
    while (Stopwatch.GetTimestamp() < end)
    {
        var before = Stopwatch.GetTimestamp();
        var key = random.Next(entries);
        cache[key] = await Job.Run(key, cache, entries);
        latencies.Add(Stopwatch.GetElapsedTime(before).TotalMicroseconds);
    }

    return latencies;
})).ToArray();
var all = (await Task.WhenAll(workers)).SelectMany(latencies => latencies).Order().ToArray();
Report.Write("ns_per_operation", Stopwatch.GetElapsedTime(start).TotalNanoseconds * workers.Length / all.Length);
foreach (var (name, part) in new[] { ("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("max_us", 1) })
{
    Report.Write(name, all[Math.Min(all.Length - 1, (int)(all.Length * part))]);
}

stalls.Stop(Console.Out);
sampler.Write(Console.Out);
Report.Write("steady_pss_bytes", ProcessMemory.Proportional);
Report.Write("steady_resident_bytes", sampler.Stop());
Report.Write("longest_stall_ms", stalls.Longest / 1e6);
Report.Write("stalls", stalls.Count);
Report.Write("collections", GC.CollectionCount(2));
Report.Write("checksum", cache.Values.Sum(report => report.Lines));
Report.WriteHeap();
return 0;

internal sealed record Order(int Number, string Customer, DateOnly Day, List<Line> Lines);

internal sealed record Line(string Article, int Count, double Price);

internal sealed record OrderReport(string Text, int Lines, Dictionary<string, double> Totals);

[JsonSerializable(typeof(List<Order>))]
internal sealed partial class OrderContext : JsonSerializerContext;

/// <summary>One operation.</summary>
internal static class Job
{
    private static readonly string[] s_articles = ["bolt", "gear", "hinge", "lever", "nut", "pin", "ring", "spring", "valve", "wheel"];

    public static async Task<OrderReport> Run(int key, ConcurrentDictionary<int, OrderReport> cache, int entries)
    {
        var text = JsonSerializer.Serialize(Make(key), OrderContext.Default.ListOrder);
        var orders = JsonSerializer.Deserialize(text, OrderContext.Default.ListOrder)!;
        var totals = Task.Run(() => Totals(orders));
        var told = Task.Run(() => Tell(orders));
        await Task.Yield();
        var neighbour = cache.TryGetValue((key + 1) % entries, out var other) ? other.Text.Split('\n').Length : 0;
        return new OrderReport(await told + neighbour.ToString(CultureInfo.InvariantCulture), orders.Sum(order => order.Lines.Count), await totals);
    }

    private static List<Order> Make(int key) =>
    [
        .. Enumerable.Range(key, 4).Select(number => new Order(
            number, "customer " + (number % 97), new DateOnly(2026, 1, 1).AddDays(number % 365),
            [.. Enumerable.Range(0, 3 + (number % 5)).Select(i => new Line(s_articles[(number + i) % s_articles.Length], i + 1, ((number + i) % 100) + 0.5))])),
    ];

    private static Dictionary<string, double> Totals(List<Order> orders) =>
        orders.SelectMany(order => order.Lines).GroupBy(line => line.Article).OrderBy(group => group.Key, StringComparer.Ordinal).ToDictionary(group => group.Key, group => group.Sum(line => line.Count * line.Price));

    private static string Tell(List<Order> orders)
    {
        var text = new StringBuilder();
        foreach (var customer in orders.GroupBy(order => order.Customer))
        {
            text.Append(customer.Key).Append(": ").AppendJoin(", ", customer.Select(order => $"{order.Number} of {order.Day:yyyy-MM-dd}")).Append('\n');
        }

        return text.ToString().ToUpperInvariant();
    }
}
