using System.Diagnostics;
using Freehold.Benchmarks;

const string Help = """
    RedBlackTree [--nodes N] [--operations N]
    Builds a red-black tree of so many random keys, then removes, looks up and inserts in turn. Removed nodes are deleted.
    """;

var options = Arguments.Parse("RedBlackTree", Help, args, new() { ["--nodes"] = 10_000_000, ["--operations"] = 10_000_000 });
if (options is null)
{
    return 2;
}

var tree = new Tree();
var random = new Random64(2026);
var checksum = 0ul;
using var clock = new StallClock();
var start = Stopwatch.GetTimestamp();
clock.Start();
while (tree.Count < options["--nodes"])
{
    tree.Insert(random.Next());
    clock.Lap();
}

var buildSeconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
Report.Write("built_resident_bytes", ProcessMemory.Resident);
var sampler = new ResidentSampler();
start = Stopwatch.GetTimestamp();
clock.Start();
for (long i = 0; i < options["--operations"]; i++)
{
    var key = random.Next();
    switch (i % 3)
    {
        case 0:
            checksum = (checksum * 31) + (tree.RemoveCeiling(key) ?? 0);
            break;
        case 1:
            checksum = (checksum * 31) + tree.Ceiling(key);
            break;
        default:
            tree.Insert(key);
            break;
    }

    clock.Lap();
}

var seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
Report.Write("steady_resident_bytes", sampler.Stop());
Report.Write("build_seconds", buildSeconds);
Report.Write("ns_per_operation", seconds * 1e9 / options["--operations"]);
Report.Write("ns_per_insertion_or_operation", (buildSeconds + seconds) * 1e9 / (options["--nodes"] + options["--operations"]));
Report.Write("longest_stall_ms", clock.Longest / 1e6);
Report.Write("longest_stall_with_processor_ms", clock.LongestWithProcessor / 1e6);
Report.Write("stalls", clock.Stalls);
Report.Write("checksum", ((checksum * 31) + tree.Check()) % 1_000_000_007);
Report.WriteHeap();
return 0;
