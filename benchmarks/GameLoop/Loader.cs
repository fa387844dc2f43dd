using System.Collections.Concurrent;

namespace Freehold.Benchmarks.GameLoop;

/// <summary>A thread that loads sectors of the world ahead of the loop, and unloads those that were left.</summary>
internal sealed class Loader : IDisposable
{
    private readonly BlockingCollection<Scenery> _loaded = new(boundedCapacity: 1);
    private readonly ConcurrentQueue<Scenery> _left = [];
    private readonly CancellationTokenSource _end = new();
    private readonly Thread _thread;

    public Loader(int levels, int size, int count)
    {
        _thread = new Thread(() =>
        {
            try
            {
                for (var i = 0; i < count; i++)
                {
                    Unload();
                    _loaded.Add(Scenery.Load(levels, size, ((ulong)i + 1) * 0x9e3779b97f4a7c15), _end.Token);
                }
            }
            catch (OperationCanceledException)
            {
                // The loop has ended before its last frame: it has failed.
            }
        })
        { IsBackground = true };
        _thread.Start();
    }

    /// <summary>The next sector: the same ones in the same order, whenever they were loaded.</summary>
    public Scenery Take() => _loaded.Take();

    /// <summary>Nobody uses it any more.</summary>
    public void Leave(Scenery sector)
    {
        if (Heap.IsManual)
        {
            _left.Enqueue(sector);
        }
    }

    public void Dispose()
    {
        _end.Cancel();
        _thread.Join();
        Unload();
        _loaded.Dispose();
        _end.Dispose();
    }

    private void Unload()
    {
        while (_left.TryDequeue(out var sector))
        {
            sector.Unload();
        }
    }
}
