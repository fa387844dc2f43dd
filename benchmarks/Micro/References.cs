namespace Freehold.Benchmarks;

/// <summary>What a program does with references: stores, comparisons, exchanges, pins. Each benchmark does it once for each element of an array.</summary>
internal sealed unsafe class References
{
    public const int Count = 1024;

    private sealed class Node
    {
        public Node? Next;
        public int Value;
    }

    private readonly Node[] _nodes = new Node[Count];
    private readonly object[] _objects = new object[Count];
    private readonly object _absent = new();
    private object _shared = new();

    public References()
    {
        for (var i = 0; i < Count; i++)
        {
            _objects[i] = _nodes[i] = new Node();
        }
    }

    public long StoreInField()
    {
        var first = _nodes[0];
        foreach (var node in _nodes)
        {
            node.Next = first;
        }

        return 0;
    }

    public long StoreInArrayElement()
    {
        var objects = _objects;
        var first = _nodes[0];
        for (var i = 0; i < objects.Length; i++)
        {
            objects[i] = first;
        }

        return 0;
    }

    /// <summary>A loop that does nothing but compare references: the worst case of what moving objects costs.</summary>
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

    public long CompareExchange()
    {
        var value = _shared;
        for (var i = 0; i < Count; i++)
        {
            Interlocked.CompareExchange(ref _shared, value, value);
        }

        return 0;
    }

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
}
