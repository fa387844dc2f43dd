using Freehold.Benchmarks;

// A simulator of what programs do to a collector, after the one in Kedia et al., "Simple, Fast, and Safe Manual Memory Management" (PLDI 2017).
const string Help = """
    GcSimulator [--levels N] [--payload 16|64|256] [--short-lived PERCENT] [--threads N] [--replaced-levels N] [--turnover PERCENT]
    A full binary tree of 2^levels - 1 objects, divided among the threads, whose lowest subtrees are replaced at random until so many
    objects have been replaced as the turnover says; and short-lived objects beside. Prints the time for an object and resident memory.
    """;

var options = Arguments.Parse("GcSimulator", Help, args, new()
{
    ["--levels"] = 23,
    ["--payload"] = 64,
    ["--short-lived"] = 50,
    ["--threads"] = 1,
    ["--replaced-levels"] = 4,
    ["--turnover"] = 200,
});
if (options is null)
{
    return 2;
}

var threads = (int)options["--threads"];
var simulations = new Simulation[threads];
try
{
    for (var i = 0; i < threads; i++)
    {
        simulations[i] = Simulation.Create((int)options["--payload"], (int)options["--levels"] - (int)Math.Log2(threads),
            (int)options["--replaced-levels"], (int)options["--short-lived"], options["--turnover"] / 100.0, 2026 + (ulong)i);
    }
}
catch (FormatException e)
{
    Console.Error.WriteLine("GcSimulator: " + e.Message);
    return 2;
}

Workers.Run(simulations, simulation => simulation.Build());
Report.Write("build_seconds", simulations.Max(simulation => simulation.BuildSeconds));
Report.Write("built_resident_bytes", ProcessMemory.Resident);
var sampler = new ResidentSampler();
Workers.Run(simulations, simulation => simulation.Run());
Report.Write("steady_resident_bytes", sampler.Stop());
Report.Write("objects", simulations.Sum(simulation => simulation.Objects));
Report.Write("ns_per_object", simulations.Max(simulation => simulation.Seconds * 1e9 / simulation.Objects));
Report.Write("longest_stall_ms", simulations.Max(simulation => simulation.LongestStall) / 1e6);
Report.Write("longest_stall_with_processor_ms", simulations.Max(simulation => simulation.LongestStallWithProcessor) / 1e6);
Report.Write("stalls", simulations.Sum(simulation => simulation.Stalls));
Workers.Run(simulations, simulation => simulation.Finish());
Report.Write("checksum", simulations.Aggregate(0ul, (sum, simulation) => sum ^ simulation.Checksum) % 1_000_000_007);
Report.WriteHeap();
return 0;
