using Microsoft.Extensions.Caching.Memory;

namespace Freehold.Benchmarks.Caching;

/// <summary>A MemoryCache whose values expire when nobody has read them for a while.</summary>
internal sealed class ValueCache(TimeSpan expiry) : IDisposable
{
    private readonly MemoryCache _cache = new(new MemoryCacheOptions { ExpirationScanFrequency = TimeSpan.FromSeconds(Math.Min(1, expiry.TotalSeconds)) });

    // Between a look into the cache and the reader's hold on the value the cache must not let go: a lock for each key, of these.
    private readonly Lock[] _locks = [.. Enumerable.Range(0, Heap.IsManual ? 1024 : 0).Select(_ => new Lock())];

    public int Count => _cache.Count;

    /// <summary>The value of a key, out of the cache or a new one, which is put there. The caller lets go of it.</summary>
    public Value Get(int number, out bool hit)
    {
        var key = new Key(number);
        if (!Heap.IsManual)
        {
            return Look(key, out hit);
        }

        Value value;
        lock (LockOf(key))
        {
            value = Look(key, out hit);
            value.Hold();
        }

        if (hit)
        {
            Heap.Delete(key);
        }

        return value;
    }

    public void Dispose() => _cache.Dispose();

    private Value Look(Key key, out bool hit)
    {
        hit = _cache.TryGetValue(key, out Value? value);
        if (!hit)
        {
            value = new Value(key.Number);
            using var entry = _cache.CreateEntry(key);
            entry.Value = value;
            entry.SlidingExpiration = expiry;
            if (Heap.IsManual)
            {
                entry.RegisterPostEvictionCallback(static (key, value, _, cache) => ((ValueCache)cache!).Evicted((Key)key, (Value)value!), this);
            }
        }

        return value!;
    }

    /// <summary>The entry is out of the cache. Its key stays: who looks for another one may be comparing it.</summary>
    private void Evicted(Key key, Value value)
    {
        lock (LockOf(key))
        {
            // Whoever has found the value holds it by now.
        }

        value.LetGo();
    }

    private Lock LockOf(Key key) => _locks[(uint)key.GetHashCode() % (uint)_locks.Length];
}
