using System.Diagnostics;
using System.Globalization;

namespace Freehold.Benchmarks;

/// <summary>
/// When, and for how long, the threads of the process were held up: a thread sleeps for a millisecond, makes an object, and notes when it was late. What it may have spent waiting for a processor is taken off,
/// so that a busy machine is not taken for the heap.
/// </summary>
internal sealed class StallLog
{
    private const double LeastNanoseconds = 200_000;

    private readonly long _start = Stopwatch.GetTimestamp();
    private readonly (double At, double Took)[] _stalls = new (double, double)[1 << 16];
    private readonly Thread _thread;
    private volatile int _count;
    private volatile bool _stop;
    private volatile object? _made;
    private long _longestNotTaken; // nanoseconds

    public StallLog()
    {
        _thread = new Thread(Run) { IsBackground = true, Priority = ThreadPriority.AboveNormal };
        _thread.Start();
    }

    /// <summary>Nanoseconds of the longest.</summary>
    public double Longest { get; private set; }

    /// <summary>Those of more than a millisecond.</summary>
    public int Count { get; private set; }

    /// <summary>Milliseconds of the longest since the last call.</summary>
    public double TakeLongest() => Interlocked.Exchange(ref _longestNotTaken, 0) / 1e6;

    /// <summary>Ends it, and writes a line for each stall: 'stall', seconds since the start, milliseconds.</summary>
    public void Stop(TextWriter writer)
    {
        _stop = true;
        _thread.Join();
        for (var i = 0; i < _count; i++)
        {
            writer.Write(string.Create(CultureInfo.InvariantCulture, $"stall {_stalls[i].At / 1e9:0.###} {_stalls[i].Took / 1e6:0.###}\n"));
        }
    }

    private void Run()
    {
        using var queue = new QueueTime();
        var nanoseconds = 1e9 / Stopwatch.Frequency;
        var queued = queue.Nanoseconds;
        while (!_stop)
        {
            // Who comes back from a sleep while the threads are stopped waits there.
            var before = Stopwatch.GetTimestamp();
            Thread.Sleep(1);
            _made = new byte[64];
            var now = Stopwatch.GetTimestamp();
            var late = Math.Max(0, ((now - before) * nanoseconds) - 1_000_000);
            Note((now - _start) * nanoseconds, late - Math.Min(late, queue.Nanoseconds - queued));
            queued = queue.Nanoseconds;
        }
    }

    private void Note(double at, double took)
    {
        Longest = Math.Max(Longest, took);
        // One that is taken between the two is told again, or is the next one's.
        Interlocked.Exchange(ref _longestNotTaken, Math.Max(Interlocked.Read(ref _longestNotTaken), (long)took));
        Count += took > 1e6 ? 1 : 0;
        if (took >= LeastNanoseconds && _count < _stalls.Length)
        {
            _stalls[_count] = (at, took);
            _count++;
        }
    }
}
