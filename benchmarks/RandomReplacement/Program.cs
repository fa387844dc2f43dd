using System.Diagnostics;
using System.Runtime.CompilerServices;
using Freehold.Benchmarks;

const string Help = """
    RandomReplacement [--live N] [--operations N]
    One table of so many objects of 64 bytes; each operation ends a random one and puts a new one in its place.
    """;

var options = Arguments.Parse("RandomReplacement", Help, args, new() { ["--live"] = 1_000_000, ["--operations"] = 50_000_000 });
if (options is null)
{
    return 2;
}

var table = new Slot[(int)options["--live"]];
for (var i = 0; i < table.Length; i++)
{
    table[i].Item = new Item { Number = i };
}

var sampler = new ResidentSampler();
using var clock = new StallClock();
var random = new Random64(88172645463325252);
var start = Stopwatch.GetTimestamp();
clock.Start();
ReplaceAll(table, ref random, options["--operations"], clock);
var seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
Report.Write("steady_resident_bytes", sampler.Stop());
Report.Write("ns_per_replacement", seconds * 1e9 / options["--operations"]);
Report.Write("longest_stall_ms", clock.Longest / 1e6);
Report.Write("longest_stall_with_processor_ms", clock.LongestWithProcessor / 1e6);
Report.Write("stalls", clock.Stalls);
var checksum = 0L;
for (var i = 0; i < table.Length; i++)
{
    checksum += table[i].Item!.Number;
}

Report.Write("checksum", checksum % 1_000_000_007);
Report.WriteHeap();
return 0;

[MethodImpl(MethodImplOptions.NoInlining)]
static void ReplaceAll(Slot[] table, ref Random64 random, long operations, StallClock clock)
{
    const int Lap = 32;
    for (long i = 0; i < operations; i += Lap)
    {
        for (var j = 0; j < Lap; j++)
        {
            Replace(table, random.Next(table.Length));
        }

        clock.Lap();
    }
}

[MethodImpl(MethodImplOptions.AggressiveInlining)]
static void Replace(Slot[] table, int number)
{
    ref var slot = ref table[number];
    var item = slot.Item!;
    if (item.Number != number)
    {
        throw new InvalidOperationException("An object does not hold what was written.");
    }

    slot.Item = null;
    if (Heap.IsManual)
    {
        Heap.Delete(item);
    }

    slot.Item = new Item { Number = number };
}

/// <summary>64 bytes with its header and type.</summary>
internal sealed class Item
{
    public long Number;
    public Words5 Rest;

    [InlineArray(5)]
    internal struct Words5
    {
        private long _first;
    }
}

/// <summary>A reference in a struct: storing it needs no check of the array's type, on either heap.</summary>
internal struct Slot
{
    public Item? Item;
}
