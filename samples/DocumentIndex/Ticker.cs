using System.Diagnostics;
using System.Runtime.InteropServices;

namespace DocumentIndex;

/// <summary>
/// A thread that wants to run every 0.2 ms and notes by how much it was late at worst: what a program with a deadline
/// would see. Time in which the machine had no processor for it (Linux counts that for each thread) is told apart.
/// </summary>
internal sealed class Ticker
{
    private const long IntervalNanoseconds = 200_000;

    private readonly Thread _thread;
    private volatile bool _stop;

    public Ticker()
    {
        _thread = new Thread(Run) { IsBackground = true, Name = "ticker" };
        _thread.Start();
    }

    /// <summary>Longest time between two ticks beyond the interval, in nanoseconds.</summary>
    public long LongestGap { get; private set; }

    /// <summary>The same without the time spent waiting for a processor.</summary>
    public long LongestStall { get; private set; }

    public long StallsAboveOneMillisecond { get; private set; }

    public long Ticks { get; private set; }

    public void Stop()
    {
        _stop = true;
        _thread.Join();
    }

    private unsafe void Run()
    {
        var statistics = Linux.Open("/proc/thread-self/schedstat"u8);
        var interval = new Linux.TimeSpec { Nanoseconds = IntervalNanoseconds };
        var last = Stopwatch.GetTimestamp();
        var lastWait = ProcessorWait(statistics);
        while (!_stop)
        {
            Linux.Sleep(&interval, null);
            var wait = ProcessorWait(statistics);
            var now = Stopwatch.GetTimestamp();
            var gap = Math.Max(0, ((now - last) * (1_000_000_000 / Stopwatch.Frequency)) - IntervalNanoseconds);
            var stall = Math.Max(0, gap - (wait - lastWait));
            LongestGap = Math.Max(LongestGap, gap);
            LongestStall = Math.Max(LongestStall, stall);
            StallsAboveOneMillisecond += stall > 1_000_000 ? 1 : 0;
            Ticks++;
            (last, lastWait) = (now, wait);
        }

        Linux.Close(statistics);
    }

    /// <summary>Second number of schedstat: nanoseconds that the thread was ready and had no processor.</summary>
    private static unsafe long ProcessorWait(int file)
    {
        var text = stackalloc byte[128];
        var length = (int)Linux.Read(file, text, 128, 0);
        if (length <= 0)
        {
            return 0;
        }

        var fields = new ReadOnlySpan<byte>(text, length);
        fields = fields[(fields.IndexOf((byte)' ') + 1)..];
        return Linux.ParseNumber(fields);
    }
}
