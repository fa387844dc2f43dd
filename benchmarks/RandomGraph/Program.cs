using System.Diagnostics;

namespace Freehold.Benchmarks.RandomGraph;

internal static class Program
{
    private const string Help = """
        RandomGraph [short|full] [--vertices N] [--replacements N]
        A random graph: each vertex has a payload, edges to 4 others, and an array of references to those whose edges lead to it. A random vertex is replaced so many times, and its neighbours are patched.
        Each object has several parents.
        """;

    public static int Main(string[] args)
    {
        var options = Arguments.Parse("RandomGraph", Help, args, new() { ["--vertices"] = 8_000_000, ["--replacements"] = 10_000_000 }, new() { ["--vertices"] = 200_000, ["--replacements"] = 500_000 });
        if (options is null)
        {
            return 2;
        }

        var vertices = (int)options["--vertices"];
        if (vertices < 2)
        {
            Console.Error.WriteLine("RandomGraph: --vertices is at least 2: no edge leads to its own vertex.");
            return 2;
        }

        var watch = new Watch();
        var start = Stopwatch.GetTimestamp();
        var graph = new Graph(vertices, 2026);
        Report.Write("build_seconds", Stopwatch.GetElapsedTime(start).TotalSeconds);
        Report.Write("built_resident_bytes", ProcessMemory.Resident);
        var replacements = options["--replacements"];
        var progress = new Progress("RandomGraph: replacements", replacements);
        var random = new Random64(88172645463325252);
        using var clock = new StallClock();
        start = Stopwatch.GetTimestamp();
        clock.Start();
        for (long i = 0; i < replacements; i++)
        {
            graph.Replace(random.Next(vertices));
            clock.Lap();
            if (i % 65536 == 0)
            {
                progress.Tell(i);
            }
        }

        var seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        progress.End();
        watch.Stop();
        Report.Write("ns_per_operation", seconds * 1e9 / replacements);
        Report.WriteStalls(clock);
        graph.Check();
        Report.Write("checksum", graph.Checksum % 1_000_000_007);
        Report.WriteHeap();
        return 0;
    }
}
