using BenchmarkDotNet.Attributes;

namespace Freehold.Benchmarks;

/// <summary>What a program does with references: stores, comparisons, exchanges, pins. Each benchmark does it once for each element of an array.</summary>
public unsafe class References
{
    private const int Count = 1024;
    private const int NodesOfSeveralBlocks = 200_000;

    private sealed class Node
    {
        public Node? Next;
        public int Value;
    }

    private readonly Node[] _nodes = new Node[Count];
    private readonly object[] _objects = new object[Count];
    private readonly object _absent = new();
    private object _shared = new();
    private Node _young = new();

    public References()
    {
        for (var i = 0; i < Count; i++)
        {
            _objects[i] = _nodes[i] = new Node();
        }
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long StoreInField() => StoreInFields(_nodes[0]);

    [Benchmark(OperationsPerInvoke = Count)]
    public long StoreInArrayElement() => StoreInElements(_nodes[0]);

    /// <summary>For stores of references to young objects in old ones, which a generational barrier remembers. Freehold's does after a round of promotion.</summary>
    [GlobalSetup(Targets = [nameof(StoreYoungInField), nameof(StoreYoungInArrayElement)])]
    public void MakeYoung()
    {
        GC.Collect();
        if (Heap.IsManual)
        {
            var sparse = MakeNodes();
            for (var i = 0; i < sparse.Length; i++)
            {
                if (i % 8 != 0)
                {
                    Heap.Delete(sparse[i]);
                }
            }

            Heap.Compact();
        }

        // The thread's chunk is older than that: young is what comes after it.
        _young = MakeNodes()[^1];
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long StoreYoungInField() => StoreInFields(_young);

    [Benchmark(OperationsPerInvoke = Count)]
    public long StoreYoungInArrayElement() => StoreInElements(_young);

    /// <summary>A loop that does nothing but compare references: the worst case of what moving objects costs.</summary>
    [Benchmark(OperationsPerInvoke = Count)]
    public long Compare()
    {
        var absent = _absent;
        var objects = _nodes;
        for (var i = 0; i < objects.Length; i++)
        {
            if (ReferenceEquals(objects[i], absent))
            {
                return i;
            }
        }

        return -1;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long CompareExchange()
    {
        var value = _shared;
        for (var i = 0; i < Count; i++)
        {
            Interlocked.CompareExchange(ref _shared, value, value);
        }

        return 0;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public long Pin()
    {
        var sum = 0;
        foreach (var node in _nodes)
        {
            fixed (int* value = &node.Value)
            {
                sum += *value;
            }
        }

        return sum;
    }

    private long StoreInFields(Node value)
    {
        foreach (var node in _nodes)
        {
            node.Next = value;
        }

        return 0;
    }

    private long StoreInElements(Node value)
    {
        var objects = _objects;
        for (var i = 0; i < objects.Length; i++)
        {
            objects[i] = value;
        }

        return 0;
    }

    private static Node[] MakeNodes()
    {
        var nodes = new Node[NodesOfSeveralBlocks];
        for (var i = 0; i < nodes.Length; i++)
        {
            nodes[i] = new Node();
        }

        return nodes;
    }
}
