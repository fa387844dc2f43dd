using System.Diagnostics;

namespace Freehold.Benchmarks.Caching;

/// <summary>One thread that gets values, or else puts them.</summary>
internal sealed class Client(int keys, long operations, ulong seed)
{
    private const double Lambda = 1.5;
    private const int TimedEach = 16;

    private static readonly double s_all = 1 - Math.Exp(-Lambda);

    private readonly double[] _latencies = new double[Math.Min(1_000_000, operations / TimedEach)];
    private int _timed;

    /// <summary>The thread's own, since it runs.</summary>
    public StallClock Clock { get; private set; } = null!;

    public long Hits { get; private set; }

    /// <summary>Depends on the keys that were read, not on what was in the cache.</summary>
    public ulong Checksum { get; private set; }

    public ReadOnlySpan<double> Latencies => _latencies.AsSpan(0, _timed);

    public void Run(ValueCache cache, Progress? progress)
    {
        var random = new Random64(seed);
        using var clock = Clock = new StallClock();
        clock.Start();
        for (long i = 0; i < operations; i++)
        {
            if (i % TimedEach == 0 && _timed < _latencies.Length)
            {
                var start = Stopwatch.GetTimestamp();
                Read(cache, NextKey(ref random));
                _latencies[_timed++] = Stopwatch.GetElapsedTime(start).TotalMicroseconds;
                progress?.Tell(i);
            }
            else
            {
                Read(cache, NextKey(ref random));
            }

            clock.Lap();
        }
    }

    private void Read(ValueCache cache, int key)
    {
        var value = cache.Get(key, out var hit);
        Checksum += value.Read(key);
        Hits += hit ? 1 : 0;
        value.LetGo();
    }

    /// <summary>Exponentially distributed over all keys, the first ones most often.</summary>
    private int NextKey(ref Random64 random)
    {
        var uniform = (random.Next() >> 11) * (1.0 / (1L << 53));
        return (int)(-Math.Log(1 - (uniform * s_all)) / Lambda * keys);
    }
}
