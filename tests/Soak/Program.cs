using System.Diagnostics;
using Freehold.Benchmarks;
using Freehold.Soak;

const string Help = """
    Soak [--gigabytes N] [--live N] [--threads N] [--deleted N] [--seed N]
    So many threads replace random records of a table of so many, until they have allocated so many gigabytes. Of what is replaced, --deleted percent are deleted by the program; nobody deletes the rest.
    Every second a line tells what the process holds. It ends with 1 if one of these figures grows, or if a record is not what it was.
    """;

var options = Arguments.Parse("Soak", Help, args, new() { ["--gigabytes"] = 100, ["--live"] = 200_000, ["--threads"] = 2, ["--deleted"] = 0, ["--seed"] = 1 });
if (options is null)
{
    return 2;
}

var wanted = options["--gigabytes"] * 1_000_000_000;
var table = new Record?[options["--live"]];
var samples = new List<Sample>(1 << 16);
string? defect = null;
using var done = new CountdownEvent((int)options["--threads"]);
var start = Stopwatch.GetTimestamp();
var before = Heap.GetStatistics().AllocatedBytes;

for (var number = 0; number < options["--threads"]; number++)
{
    // Each thread has a part of the table to itself.
    int first = (int)(table.Length * (long)number / options["--threads"]), end = (int)(table.Length * (number + 1L) / options["--threads"]);
    var seed = (ulong)(options["--seed"] + number + 1) * 88172645463325252;
    new Thread(() => Replace(first, end, seed)) { IsBackground = true, Name = "Soak" }.Start();
}

Console.WriteLine($"# {Sample.Columns}");
var stalls = new StallLog();
while (!done.Wait(1000))
{
    var sample = Take(stalls);
    samples.Add(sample);
    Console.WriteLine(sample);
}

Console.WriteLine($"# {Heap.GetStatistics().Reclaims} reclaims, {Heap.GetStatistics().DeletedObjects} objects deleted, {Heap.GetStatistics().DanglingFaults} uses of deleted objects");
if (defect is not null)
{
    Console.WriteLine($"wrong: {defect}");
    return 1;
}

return Flatness.Judge(samples, Console.Out) ? 0 : 1;

void Replace(int first, int end, ulong seed)
{
    var random = new Random64(seed);
    try
    {
        while (Volatile.Read(ref defect) is null && Heap.GetStatistics().AllocatedBytes - before < wanted)
        {
            for (var i = 0; i < 10_000; i++)
            {
                ref var slot = ref table[first + random.Next(end - first)];
                var old = slot;
                slot = new Record(random.Next());
                if (old?.Defect() is { } found)
                {
                    Volatile.Write(ref defect, found);
                    break;
                }

                if (old is not null && random.Next(100) < options["--deleted"])
                {
                    old.Delete();
                }
            }
        }
    }
    catch (Exception e) when (e is OutOfMemoryException or DanglingReferenceException)
    {
        Volatile.Write(ref defect, e.ToString());
    }
    finally
    {
        done.Signal();
    }
}

Sample Take(StallLog stalls)
{
    var statistics = Heap.GetStatistics();
    return new Sample(
        Stopwatch.GetElapsedTime(start).TotalSeconds,
        (statistics.AllocatedBytes - before) / 1e9,
        ProcessMemory.Proportional / 1e6,
        ProcessMemory.Mappings,
        ProcessMemory.PageTables / 1e6,
        statistics.ForwardingBytes / 1e6,
        stalls.TakeLongest());
}
