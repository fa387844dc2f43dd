using Microsoft.Win32.SafeHandles;

namespace Freehold.Benchmarks.KeyValueStore;

/// <summary>A log of values in a file, written in blocks, and an index of the last value of each key.</summary>
internal sealed class Store : IDisposable
{
    private const int BlockBytes = 1 << 20;

    private readonly SafeFileHandle _file = File.OpenHandle(
        Path.Combine(Path.GetTempPath(), $"freehold-store-{Guid.NewGuid():N}"), FileMode.CreateNew, FileAccess.ReadWrite, FileShare.None, FileOptions.DeleteOnClose);

    private readonly HashIndex _index = new();
    private byte[] _block = new byte[BlockBytes];
    private int _used;
    private long _written;

    public int Count => _index.Count;

    public long Bytes => _written + _used;

    public void Put(ReadOnlySpan<byte> key, ReadOnlySpan<byte> value)
    {
        if (_used + value.Length > BlockBytes)
        {
            Flush();
        }

        value.CopyTo(_block.AsSpan(_used));
        _index.Put(key, _written + _used, value.Length);
        _used += value.Length;
    }

    /// <summary>A value that the caller owns, or null.</summary>
    public byte[]? Get(ReadOnlySpan<byte> key)
    {
        if (_index.Find(key) is not { } entry)
        {
            return null;
        }

        var value = new byte[entry.Length];
        if (entry.Offset >= _written)
        {
            _block.AsSpan((int)(entry.Offset - _written), entry.Length).CopyTo(value);
        }
        else if (RandomAccess.Read(_file, value, entry.Offset) != entry.Length)
        {
            throw new InvalidOperationException($"The file ends before the value at {entry.Offset}.");
        }

        return value;
    }

    /// <summary>Writes the block, and begins a new one.</summary>
    public void Flush()
    {
        RandomAccess.Write(_file, _block.AsSpan(0, _used), _written);
        _written += _used;
        _used = 0;
        var block = _block;
        _block = new byte[BlockBytes];
        if (Heap.IsManual)
        {
            Heap.Delete(block);
        }
    }

    public void Dispose() => _file.Dispose();
}
