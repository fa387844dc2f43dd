using System.Diagnostics;
using System.Globalization;
using Freehold.Benchmarks;

// Each kernel several times; the fastest counts. 'checksum' lines must be the same in every build.
var repetitions = args is ["--repetitions", var text] ? int.Parse(text, CultureInfo.InvariantCulture) : 7;
(string Name, IKernel Kernel)[] kernels =
[
    ("matrix", new Kernels.Matrix()),
    ("bodies", new Kernels.Bodies()),
    ("sieve", new Kernels.Sieve()),
    ("list", new Kernels.List()),
    ("sort", new Kernels.Sort()),
    ("lookup", new Kernels.Lookup()),
    ("registers", new Kernels.Registers()),
];

foreach (var (name, kernel) in kernels)
{
    var result = kernel.Run();
    var best = double.MaxValue;
    long allocated = 0;
    for (var i = 0; i < repetitions; i++)
    {
        var allocatedBefore = GC.GetAllocatedBytesForCurrentThread();
        var start = Stopwatch.GetTimestamp();
        result = kernel.Run();
        var end = Stopwatch.GetTimestamp();
        allocated += GC.GetAllocatedBytesForCurrentThread() - allocatedBefore;
        best = Math.Min(best, Stopwatch.GetElapsedTime(start, end).TotalMilliseconds);
    }

    if (allocated != 0)
    {
        throw new InvalidOperationException($"The kernel {name} allocates.");
    }

    Report.Write(name + "_ms", best);
    Report.Write(name + "_checksum", result);
}

Report.WriteHeap();
return 0;
