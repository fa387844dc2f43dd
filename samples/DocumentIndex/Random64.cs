namespace DocumentIndex;

/// <summary>SplitMix64: the same sequence on every machine and in every build.</summary>
internal struct Random64(ulong seed)
{
    private ulong _state = seed;

    public ulong Next()
    {
        var z = _state += 0x9E3779B97F4A7C15;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    }

    /// <summary>A number from 0 to <paramref name="limit"/> - 1.</summary>
    public int Next(int limit) => (int)(((Next() >> 32) * (ulong)limit) >> 32);

    public void Shuffle(Span<int> values)
    {
        for (var i = values.Length - 1; i > 0; i--)
        {
            var j = Next(i + 1);
            (values[i], values[j]) = (values[j], values[i]);
        }
    }
}
