using System.Buffers.Binary;

namespace Freehold.Benchmarks.Caching;

/// <summary>What is cached: bytes that follow from the key. The cache and each reader hold it; the last one who lets go deletes it.</summary>
internal sealed class Value
{
    private const int LeastBytes = 16, MostBytes = 1024;

    private int _holders = 1;

    public Value(int key)
    {
        var stamp = StampOf(key);
        Data = new byte[LeastBytes + (int)(stamp % (MostBytes - LeastBytes + 1))];
        Data.AsSpan().Fill((byte)key);
        BinaryPrimitives.WriteUInt64LittleEndian(Data, stamp);
        BinaryPrimitives.WriteUInt64LittleEndian(Data.AsSpan(^8), ~stamp);
    }

    public byte[] Data { get; }

    /// <summary>What each read of a key adds to the checksum, whether it was in the cache or not.</summary>
    public ulong Read(int key)
    {
        var stamp = BinaryPrimitives.ReadUInt64LittleEndian(Data);
        return stamp == StampOf(key) && BinaryPrimitives.ReadUInt64LittleEndian(Data.AsSpan(^8)) == ~stamp
            ? stamp
            : throw new InvalidOperationException($"The value of {key} is not what was written.");
    }

    /// <summary>Only while the cache holds it, which cannot let go meanwhile.</summary>
    public void Hold() => Interlocked.Increment(ref _holders);

    public void LetGo()
    {
        if (Heap.IsManual && Interlocked.Decrement(ref _holders) == 0)
        {
            Heap.Delete(Data);
            Heap.Delete(this);
        }
    }

    /// <summary>The finalizer of splitmix64.</summary>
    private static ulong StampOf(int key)
    {
        var z = (ulong)key + 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
}
