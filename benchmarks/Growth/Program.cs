using System.Collections.Concurrent;
using System.Diagnostics;
using Freehold.Benchmarks;

const string Help = """
    Growth [--live N] [--seconds N] [--threads N] [--replaced PERCENT]
    A ConcurrentDictionary that grows to so many entries, each with an object of its own; then for so long random ones are replaced, each with a text on the way. Nothing is deleted.
    Fewer than 100 percent: the others are read, and what is made for them is forgotten.
    """;

var options = Arguments.Parse("Growth", Help, args, new() { ["--live"] = 1_000_000, ["--seconds"] = 20, ["--threads"] = 2, ["--replaced"] = 100 });
if (options is null)
{
    return 2;
}

var live = (int)options["--live"];
var replaced = (int)options["--replaced"];
var entries = new ConcurrentDictionary<int, Entry>();
var sampler = new ResidentSampler();
var start = Stopwatch.GetTimestamp();
for (var i = 0; i < live; i++)
{
    entries[i] = new Entry(i, "entry " + i);
}

Report.Write("seconds_to_grow", Stopwatch.GetElapsedTime(start).TotalSeconds);
var end = Stopwatch.GetTimestamp() + (options["--seconds"] * Stopwatch.Frequency);
var parts = Enumerable.Range(0, (int)options["--threads"]).Select(i => new Part((ulong)(i + 1) * 88172645463325252)).ToArray();
Workers.Run(parts, part =>
{
    using var clock = new StallClock();
    var random = new Random64(part.Seed);
    clock.Start();
    while (Stopwatch.GetTimestamp() < end)
    {
        for (var i = 0; i < 16; i++)
        {
            var key = random.Next(live);
            var before = entries[key];
            part.Sum += before.Text.Length + before.Number;
            var entry = new Entry(before.Number + 1, "entry " + key);
            if (replaced >= 100 || random.Next(100) < replaced)
            {
                entries[key] = entry;
            }

            part.Operations++;
        }

        clock.Lap();
    }

    part.Longest = clock.Longest;
    part.LongestWithProcessor = clock.LongestWithProcessor;
    part.Stalls = clock.Stalls;
});
Report.Write("ns_per_operation", options["--seconds"] * 1e9 * parts.Length / parts.Sum(part => part.Operations));
Report.Write("longest_stall_ms", parts.Max(part => part.Longest) / 1e6);
Report.Write("longest_stall_with_processor_ms", parts.Max(part => part.LongestWithProcessor) / 1e6);
Report.Write("stalls", parts.Sum(part => part.Stalls));
Report.Write("steady_resident_bytes", sampler.Stop());
Report.Write("collections", GC.CollectionCount(2));
var total = 0L;
for (var i = 0; i < live; i++)
{
    total += entries[i].Text.Length;
}

Report.Write("checksum", total);
Report.WriteHeap();
return 0;

internal sealed record Entry(int Number, string Text);

internal sealed class Part(ulong seed)
{
    public ulong Seed { get; } = seed;

    public long Operations { get; set; }

    public long Sum { get; set; }

    public double Longest { get; set; }

    public double LongestWithProcessor { get; set; }

    public int Stalls { get; set; }
}
