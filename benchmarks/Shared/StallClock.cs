using System.Diagnostics;

namespace Freehold.Benchmarks;

/// <summary>
/// The longest times that one thread needed for a step of its work. A step takes some microseconds at most by itself: what is longer, somebody
/// held the thread up. Its time in the queue for a processor is known from Linux, so that a busy machine can be told from the heap.
/// </summary>
internal sealed class StallClock : IDisposable
{
    private const long QueueEvery = 1_000_000; // nanoseconds between two looks at the queue's time: each costs two microseconds
    private const long Long = 100_000;

    private static readonly double s_nanoseconds = 1e9 / Stopwatch.Frequency;

    private readonly QueueTime _queue = new();
    private readonly long _longTicks = (long)(Long / s_nanoseconds), _queueTicks = (long)(QueueEvery / s_nanoseconds);
    private long _last, _lastQueueAt, _queued;

    /// <summary>Nanoseconds of the longest step.</summary>
    public double Longest { get; private set; }

    /// <summary>Nanoseconds of the longest step, without what may have been spent waiting for a processor.</summary>
    public double LongestWithProcessor { get; private set; }

    /// <summary>Steps of more than a millisecond.</summary>
    public int Stalls { get; private set; }

    /// <summary>The thread's own: call it there. The first step begins.</summary>
    public void Start()
    {
        _queued = _queue.Nanoseconds;
        _last = _lastQueueAt = Stopwatch.GetTimestamp();
    }

    /// <summary>A step ends, the next one begins.</summary>
    public void Lap()
    {
        var now = Stopwatch.GetTimestamp();
        if (now - _last > _longTicks || now - _lastQueueAt > _queueTicks)
        {
            Look(now);
        }
        else
        {
            _last = now;
        }
    }

    public void Dispose() => _queue.Dispose();

    private void Look(long now)
    {
        var took = (now - _last) * s_nanoseconds;
        var queued = _queue.Nanoseconds;
        if (took > 1e6)
        {
            Stalls++;
        }

        Longest = Math.Max(Longest, took);
        LongestWithProcessor = Math.Max(LongestWithProcessor, took - Math.Min(took, queued - _queued));
        _queued = queued;
        _last = _lastQueueAt = Stopwatch.GetTimestamp();
    }
}
