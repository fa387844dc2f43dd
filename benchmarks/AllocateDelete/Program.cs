using System.Globalization;
using Freehold.Benchmarks;

const string Help = """
    AllocateDelete [--size 24|64|256|1000] [--in-flight N] [--threads N] [--order fifo|lifo|random] [--pairs N]
    Allocates and deletes objects; prints ns for each pair and thread, and resident memory before and after.
    The objects in flight and the pairs are divided among the threads.
    """;

var values = new Dictionary<string, string>
{
    ["--size"] = "64",
    ["--in-flight"] = "1000",
    ["--threads"] = "1",
    ["--order"] = "fifo",
    ["--pairs"] = "20000000",
};
int threads;
Worker[] workers, forerunners;
try
{
    for (var i = 0; i < args.Length; i += 2)
    {
        if (!values.ContainsKey(args[i]) || i + 1 == args.Length)
        {
            throw new FormatException($"Unknown option '{args[i]}', or one without a value.\n{Help}");
        }

        values[args[i]] = args[i + 1];
    }

    threads = (int)Number("--threads");
    var inFlight = (int)(Number("--in-flight") / threads);
    var order = values["--order"] switch
    {
        "fifo" => Order.Fifo,
        "lifo" => Order.Lifo,
        "random" => Order.Random,
        var other => throw new FormatException($"--order is fifo, lifo or random, not '{other}'."),
    };
    workers = new Worker[threads];
    forerunners = new Worker[threads];
    for (var i = 0; i < threads; i++)
    {
        forerunners[i] = Worker.Create((int)Number("--size"), 10, order, 100);
        workers[i] = Worker.Create((int)Number("--size"), inFlight, order, Number("--pairs") / threads);
    }
}
catch (FormatException e)
{
    Console.Error.WriteLine("AllocateDelete: " + e.Message);
    return 2;
}

// What the runtime loads or makes only once belongs to the start: the code of all this, and what threads leave behind.
Workers.Run(forerunners, worker => worker.Run());
Workers.Run(forerunners, worker => worker.Clear());
_ = ProcessMemory.Resident;
Report.Write("threads", threads);
var startResident = ProcessMemory.Resident;
Workers.Run(workers, worker => worker.Run());
var fullResident = ProcessMemory.Resident;
Workers.Run(workers, worker => worker.Clear());

// Without being asked, after a moment; then asked: on either heap.
Thread.Sleep(1000);
var endResident = ProcessMemory.Resident;
GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
Report.Write("collected_resident_bytes", ProcessMemory.Resident);
Report.Write("ns_per_pair", workers.Max(worker => worker.Seconds * 1e9 / worker.TimedPairs));
Report.Write("start_resident_bytes", startResident);
Report.Write("full_resident_bytes", fullResident);
Report.Write("end_resident_bytes", endResident);
Report.WriteHeap();
return 0;

long Number(string name) => long.Parse(values[name], NumberStyles.None, CultureInfo.InvariantCulture);
