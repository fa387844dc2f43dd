namespace Freehold.Benchmarks;

/// <summary>Xorshift: cheap next to what is measured, the same numbers in every build.</summary>
internal struct Random64(ulong seed)
{
    private ulong _state = seed;

    public ulong Next()
    {
        _state ^= _state << 13;
        _state ^= _state >> 7;
        _state ^= _state << 17;
        return _state;
    }

    /// <summary>A number from 0 to <paramref name="limit"/> - 1.</summary>
    public int Next(int limit) => (int)(((Next() >> 32) * (ulong)limit) >> 32);
}
