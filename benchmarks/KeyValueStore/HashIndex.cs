namespace Freehold.Benchmarks.KeyValueStore;

/// <summary>A hash table with chains: which entry a key has.</summary>
internal sealed class HashIndex
{
    // A reference in a struct: storing it needs no check of the array's type, on either heap.
    private struct Bucket
    {
        public Entry? First;
    }

    private Bucket[] _buckets = new Bucket[1024];

    public int Count { get; private set; }

    public static uint Hash(ReadOnlySpan<byte> key)
    {
        // FNV-1a, and a last step so that low bits depend on all.
        var hash = 2166136261u;
        foreach (var b in key)
        {
            hash = (hash ^ b) * 16777619;
        }

        hash ^= hash >> 15;
        hash *= 0x85ebca6b;
        return hash ^ (hash >> 13);
    }

    public Entry? Find(ReadOnlySpan<byte> key)
    {
        var hash = Hash(key);
        for (var entry = _buckets[hash & (uint)(_buckets.Length - 1)].First; entry is not null; entry = entry.Next)
        {
            if (entry.Hash == hash && key.SequenceEqual(entry.Key))
            {
                return entry;
            }
        }

        return null;
    }

    /// <summary>Puts an entry for a key in the place of the one that it had, which goes.</summary>
    public void Put(ReadOnlySpan<byte> key, long offset, int length)
    {
        var hash = Hash(key);
        ref var place = ref _buckets[hash & (uint)(_buckets.Length - 1)].First;
        while (place is { } entry)
        {
            if (entry.Hash == hash && key.SequenceEqual(entry.Key))
            {
                place = new Entry(key.ToArray(), hash, offset, length, entry.Next);
                if (Heap.IsManual)
                {
                    Heap.Delete(entry.Key);
                    Heap.Delete(entry);
                }

                return;
            }

            place = ref entry.Next;
        }

        place = new Entry(key.ToArray(), hash, offset, length, null);
        if (++Count > _buckets.Length)
        {
            Grow();
        }
    }

    private void Grow()
    {
        var old = _buckets;
        _buckets = new Bucket[old.Length * 2];
        foreach (var bucket in old)
        {
            for (var entry = bucket.First; entry is not null;)
            {
                var next = entry.Next;
                ref var first = ref _buckets[entry.Hash & (uint)(_buckets.Length - 1)].First;
                entry.Next = first;
                first = entry;
                entry = next;
            }
        }

        if (Heap.IsManual)
        {
            Heap.Delete(old);
        }
    }
}
