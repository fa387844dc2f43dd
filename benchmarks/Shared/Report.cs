using System.Globalization;
using System.Runtime;

namespace Freehold.Benchmarks;

/// <summary>The result of a measured program: 'name value' lines on standard output, read by benchmarks/Compare.</summary>
internal static class Report
{
    public static string HeapName => Heap.IsManual ? "freehold" : GCSettings.IsServerGC ? "server" : "workstation";

    public static void Write(string name, double value) =>
        Console.Out.Write(string.Create(CultureInfo.InvariantCulture, $"{name} {value:0.######}\n"));

    public static void WriteHeap()
    {
        Console.Out.Write($"heap {HeapName}\n");
        Write("gc_pause_seconds", GC.GetTotalPauseDuration().TotalSeconds);
        Write("processor_seconds", Environment.CpuUsage.TotalTime.TotalSeconds);
        Write("peak_resident_bytes", ProcessMemory.PeakResident);
    }
}
