using System.Diagnostics;
using System.Globalization;
using Freehold.Benchmarks;

// A heap of many gigabytes of arrays of 32 to 1,024 bytes, deleted in random order: the most scattered death there is.
// Prints the highest number of mappings on the way; more than the limit is a failure.
const string Help = "RandomDeletion [--gigabytes N (4)] [--limit MAPPINGS (20000)]";

double gigabytes = 4;
var limit = 20_000;
for (var i = 0; i < args.Length; i += 2)
{
    if (i + 1 < args.Length && args[i] == "--gigabytes" && double.TryParse(args[i + 1], CultureInfo.InvariantCulture, out gigabytes))
    {
        continue;
    }

    if (i + 1 < args.Length && args[i] == "--limit" && int.TryParse(args[i + 1], CultureInfo.InvariantCulture, out limit))
    {
        continue;
    }

    Console.Error.WriteLine($"RandomDeletion: unknown option '{args[i]}', or one without a valid value.\n{Help}");
    return 2;
}

const int MeanSize = 528;
var objects = new byte[]?[(int)(gigabytes * (1 << 30) / MeanSize)];
var order = new int[objects.Length];
// The program's own arrays have their memory before anything is counted.
Array.Fill(objects, null);
Array.Fill(order, 0);
_ = ProcessMemory.Resident;
_ = ProcessMemory.Mappings;
Report.Write("objects", objects.Length);
var startResident = ProcessMemory.Resident;

var random = new Random64(2026);
var clock = Stopwatch.StartNew();
long bytes = 0;
for (var i = 0; i < objects.Length; i++)
{
    var item = new byte[8 + random.Next(993)];
    item[0] = item[^1] = (byte)i;
    bytes += item.Length + 24;
    objects[i] = item;
    order[i] = i;
}

Report.Write("allocate_seconds", clock.Elapsed.TotalSeconds);
Report.Write("allocated_bytes", bytes);
var fullResident = ProcessMemory.Resident;
for (var i = order.Length - 1; i > 0; i--)
{
    var j = random.Next(i + 1);
    (order[i], order[j]) = (order[j], order[i]);
}

const int Samples = 200;
var deletion = new double[Samples];
var resident = new long[Samples];
int mostMappings = 0, mostAt = 0;
for (var sample = 0; sample < Samples; sample++)
{
    clock.Restart();
    var end = (int)((long)order.Length * (sample + 1) / Samples);
    for (var i = (int)((long)order.Length * sample / Samples); i < end; i++)
    {
        var item = objects[order[i]]!;
        if (item[0] != (byte)order[i] || item[^1] != (byte)order[i])
        {
            throw new InvalidOperationException("An object does not hold what was written.");
        }

        objects[order[i]] = null;
        if (Heap.IsManual)
        {
            Heap.Delete(item);
        }
    }

    deletion[sample] = clock.Elapsed.TotalSeconds;
    var mappings = ProcessMemory.Mappings;
    resident[sample] = ProcessMemory.Resident;
    if (mappings > mostMappings)
    {
        (mostMappings, mostAt) = (mappings, sample + 1);
    }
}

// Without being asked, after a moment; then asked: on either heap.
Thread.Sleep(1000);
var endResident = ProcessMemory.Resident;
GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
Report.Write("collected_resident_bytes", ProcessMemory.Resident);
Report.Write("delete_seconds", deletion.Sum());
Report.Write("delete_ns", deletion.Sum() * 1e9 / objects.Length);
Report.Write("most_mappings", mostMappings);
Report.Write("most_mappings_at_percent", mostAt * 100.0 / Samples);
Report.Write("start_resident_bytes", startResident);
Report.Write("full_resident_bytes", fullResident);
foreach (var percent in (ReadOnlySpan<int>)[50, 75, 90, 95])
{
    Report.Write($"resident_at_{percent}_percent_bytes", resident[(percent * Samples / 100) - 1]);
}

Report.Write("end_resident_bytes", endResident);
Report.WriteHeap();
GC.KeepAlive(objects);
return mostMappings <= limit ? 0 : 1;
