using System.Diagnostics;
using System.Globalization;
using System.Text;

namespace DocumentIndex;

/// <summary>What the run cost. Nothing of it goes to standard output, which must not depend on the heap.</summary>
internal sealed class Measurements
{
    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly List<(string Name, double Value)> _values = new(64);
    private readonly long[] _longestOperation = new long[2];
    private long _phaseStart = Stopwatch.GetTimestamp();

    public enum Operation
    {
        Replace,
        Query,
    }

    public static string HeapName =>
        Heap.IsManual ? "freehold" : System.Runtime.GCSettings.IsServerGC ? "server" : "workstation";

    public double Seconds => Stopwatch.GetElapsedTime(_start).TotalSeconds;

    public void Add(string name, double value) => _values.Add((name, value));

    public void EndPhase(string name)
    {
        var now = Stopwatch.GetTimestamp();
        Add(name + "_seconds", Stopwatch.GetElapsedTime(_phaseStart, now).TotalSeconds);
        _phaseStart = now;
    }

    /// <summary>Notes an operation that began at <paramref name="start"/> and ends now; returns now.</summary>
    public long EndOperation(Operation operation, long start)
    {
        var now = Stopwatch.GetTimestamp();
        ref var longest = ref _longestOperation[(int)operation];
        longest = Math.Max(longest, now - start);
        return now;
    }

    public void AddResident(string name) =>
        Add(name + "_bytes", Linux.Kilobytes("/proc/self/smaps_rollup"u8, "Rss:"u8));

    public void AddProcess(Ticker ticker)
    {
        var milliseconds = 1000.0 / Stopwatch.Frequency;
        Add("total_seconds", Seconds);
        Add("processor_seconds", Environment.CpuUsage.TotalTime.TotalSeconds);
        Add("longest_replace_ms", _longestOperation[(int)Operation.Replace] * milliseconds);
        Add("longest_query_ms", _longestOperation[(int)Operation.Query] * milliseconds);
        Add("longest_stall_ms", ticker.LongestStall / 1e6);
        Add("longest_gap_ms", ticker.LongestGap / 1e6);
        Add("stalls_above_1ms", ticker.StallsAboveOneMillisecond);
        Add("ticks", ticker.Ticks);
        Add("gc_pause_seconds", GC.GetTotalPauseDuration().TotalSeconds);
        Add("gc_count", GC.CollectionCount(0));
        Add("allocated_bytes", GC.GetTotalAllocatedBytes());
        Add("peak_resident_bytes", Linux.Kilobytes("/proc/self/status"u8, "VmHWM:"u8));
    }

    public void Write(TextWriter writer)
    {
        writer.Write($"heap {HeapName}\n");
        foreach (var (name, value) in _values)
        {
            writer.Write(string.Create(CultureInfo.InvariantCulture, $"{name} {value:0.######}\n"));
        }

        writer.Flush();
    }
}
