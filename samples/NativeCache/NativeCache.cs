using System.Runtime.InteropServices;

/// <summary>The cache of cache.c.</summary>
internal sealed unsafe partial class NativeCache : IDisposable
{
    private nint _cache;

    public NativeCache(long mostBytes)
    {
        _cache = Create((nuint)mostBytes);
        if (_cache == 0) throw new OutOfMemoryException();
    }

    public long Count => (long)CountOf(_cache);

    public long Bytes => (long)BytesOf(_cache);

    public ulong Evictions => EvictionsOf(_cache);

    public void Put(ulong key, ReadOnlySpan<byte> value)
    {
        fixed (byte* bytes = value)
        {
            if (Put(_cache, key, bytes, (nuint)value.Length) == 0) throw new OutOfMemoryException();
        }
    }

    /// <summary>The size of the value; -1: it is not there.</summary>
    public int Get(ulong key, Span<byte> to)
    {
        fixed (byte* bytes = to)
        {
            return (int)Get(_cache, key, bytes, (nuint)to.Length);
        }
    }

    public void SetMost(long bytes) => SetMost(_cache, (nuint)bytes);

    public void Dispose()
    {
        if (_cache != 0) Destroy(_cache);
        _cache = 0;
    }

    [LibraryImport("nativecache", EntryPoint = "cache_create")]
    private static partial nint Create(nuint mostBytes);

    [LibraryImport("nativecache", EntryPoint = "cache_destroy")]
    private static partial void Destroy(nint cache);

    [LibraryImport("nativecache", EntryPoint = "cache_put")]
    private static partial int Put(nint cache, ulong key, byte* value, nuint size);

    [LibraryImport("nativecache", EntryPoint = "cache_get")]
    private static partial long Get(nint cache, ulong key, byte* to, nuint room);

    [LibraryImport("nativecache", EntryPoint = "cache_set_most")]
    private static partial void SetMost(nint cache, nuint mostBytes);

    [LibraryImport("nativecache", EntryPoint = "cache_count")]
    private static partial nuint CountOf(nint cache);

    [LibraryImport("nativecache", EntryPoint = "cache_bytes")]
    private static partial nuint BytesOf(nint cache);

    [LibraryImport("nativecache", EntryPoint = "cache_evictions")]
    private static partial ulong EvictionsOf(nint cache);
}
