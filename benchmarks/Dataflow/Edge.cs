using System.Collections.Concurrent;

namespace Freehold.Benchmarks.Dataflow;

/// <summary>Takes batches from one operator to the next, which is on another thread.</summary>
internal sealed class Edge<T> : IDisposable
    where T : class, IRecord
{
    private const int BatchSize = 1024, MostBatches = 16;

    private readonly BlockingCollection<Batch<T>> _batches = new(MostBatches);
    private Batch<T>? _filling;

    /// <summary>Of the operator before: a record of an epoch.</summary>
    public void Send(int epoch, T record)
    {
        _filling ??= new Batch<T>(epoch, BatchSize);
        _filling.Add(record);
        if (_filling.IsFull)
        {
            _batches.Add(_filling);
            _filling = null;
        }
    }

    /// <summary>Of the operator before: no more of this epoch.</summary>
    public void EndEpoch(int epoch)
    {
        var last = _filling ?? new Batch<T>(epoch, 1);
        _filling = null;
        last.EndsEpoch = true;
        _batches.Add(last);
    }

    public void EndAll() => _batches.CompleteAdding();

    /// <summary>Of the operator behind: the next batch, or null when there is none any more.</summary>
    public Batch<T>? Receive() => _batches.TryTake(out var batch, Timeout.Infinite) ? batch : null;

    public void Dispose() => _batches.Dispose();
}
