using System.Globalization;
using System.Runtime;

namespace Freehold.Benchmarks;

/// <summary>The result of a measured program: 'name value' lines on standard output, read by benchmarks/Compare.</summary>
internal static class Report
{
    public static string HeapName => Heap.IsManual ? "freehold" : GCSettings.IsServerGC ? "server" : "workstation";

    public static void Write(string name, double value) =>
        Console.Out.Write(string.Create(CultureInfo.InvariantCulture, $"{name} {value:0.######}\n"));

    /// <summary>The longest steps of all workers, and the number of those above a millisecond.</summary>
    public static void WriteStalls(params IReadOnlyCollection<StallClock> clocks)
    {
        Write("longest_stall_ms", clocks.Max(clock => clock.Longest) / 1e6);
        Write("longest_stall_with_processor_ms", clocks.Max(clock => clock.LongestWithProcessor) / 1e6);
        Write("stalls", clocks.Sum(clock => clock.Stalls));
    }

    /// <summary>The half, the hundredth and the thousandth that took longest, and the longest, in µs.</summary>
    public static void WriteLatencies(double[] microseconds)
    {
        Array.Sort(microseconds);
        foreach (var (name, part) in new[] { ("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("max_us", 1) })
        {
            Write(name, microseconds.Length == 0 ? 0 : microseconds[Math.Min(microseconds.Length - 1, (int)(microseconds.Length * part))]);
        }
    }

    public static void WriteHeap()
    {
        Console.Out.Write($"heap {HeapName}\n");
        Write("gc_pause_seconds", GC.GetTotalPauseDuration().TotalSeconds);
        Write("processor_seconds", Environment.CpuUsage.TotalTime.TotalSeconds);
        Write("peak_resident_bytes", ProcessMemory.PeakResident);
    }
}
