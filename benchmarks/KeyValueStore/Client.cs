using System.Buffers.Binary;
using System.Diagnostics;

namespace Freehold.Benchmarks.KeyValueStore;

/// <summary>One thread with a store of its own: puts, then gets, each of random keys.</summary>
internal sealed class Client(int keys, long operations, ulong seed) : IDisposable
{
    private const int KeyBytes = 20, LeastValueBytes = 16, MostValueBytes = 240;

    private readonly Store _store = new();
    private Random64 _random = new(seed);

    /// <summary>The thread's own, of the puts and of the gets.</summary>
    public List<StallClock> Clocks { get; } = [];

    public double PutSeconds { get; private set; }

    public double GetSeconds { get; private set; }

    public long Hits { get; private set; }

    public ulong Checksum { get; private set; }

    public int Count => _store.Count;

    public long Bytes => _store.Bytes;

    public void Put(Progress? progress) => PutSeconds = Timed(progress, i =>
    {
        Span<byte> key = stackalloc byte[KeyBytes];
        Span<byte> value = stackalloc byte[MostValueBytes];
        WriteKey(key, _random.Next(keys));
        var length = LeastValueBytes + _random.Next(MostValueBytes - LeastValueBytes + 1);
        value = value[..length];
        value.Fill((byte)length);
        BinaryPrimitives.WriteInt64LittleEndian(value, i);
        BinaryPrimitives.WriteInt64LittleEndian(value[^8..], ~i);
        _store.Put(key, value);
    });

    public void Get(Progress? progress) => GetSeconds = Timed(progress, _ =>
    {
        Span<byte> key = stackalloc byte[KeyBytes];
        WriteKey(key, _random.Next(keys));
        if (_store.Get(key) is { } value)
        {
            var stamp = BinaryPrimitives.ReadInt64LittleEndian(value);
            if (BinaryPrimitives.ReadInt64LittleEndian(value.AsSpan(^8)) != ~stamp)
            {
                throw new InvalidOperationException("A value is not what was written.");
            }

            Checksum = (Checksum * 31) + (ulong)stamp + (ulong)value.Length;
            Hits++;
            if (Heap.IsManual)
            {
                Heap.Delete(value);
            }
        }
    });

    public void Dispose() => _store.Dispose();

    private double Timed(Progress? progress, Action<long> operation)
    {
        using var clock = new StallClock();
        Clocks.Add(clock);
        var start = Stopwatch.GetTimestamp();
        clock.Start();
        for (long i = 0; i < operations; i++)
        {
            operation(i);
            clock.Lap();
            if (i % 65536 == 0)
            {
                progress?.Tell(i);
            }
        }

        return Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    private static void WriteKey(Span<byte> key, int number)
    {
        "user:"u8.CopyTo(key);
        for (var i = KeyBytes - 1; i >= 5; i--)
        {
            key[i] = (byte)('0' + (number % 10));
            number /= 10;
        }
    }
}
