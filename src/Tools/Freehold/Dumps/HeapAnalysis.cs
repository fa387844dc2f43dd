namespace Freehold.Tool.Dumps;

/// <summary>What a dump tells, by type and by object.</summary>
internal sealed class HeapAnalysis
{
    private readonly HeapGraph _graph;
    private readonly Dominators _dominators;

    public HeapAnalysis(HeapGraph graph)
    {
        _graph = graph;
        _dominators = Dominators.Find(graph);
        long[] retained = RetainedByType();
        Live = SumByType(node => graph.States[node] == ObjectState.Live, retained);
        Frozen = SumByType(node => graph.States[node] == ObjectState.Frozen, null);
        Deleted = SumByType(node => graph.States[node] == ObjectState.Deleted, null);
        Unreachable = SumByType(node => graph.States[node] == ObjectState.Live && !_dominators.IsReached(node), null);
        Dangling = FindDangling();
    }

    /// <summary>Objects that were not deleted, the most bytes first.</summary>
    public IReadOnlyList<TypeSum> Live { get; }

    public IReadOnlyList<TypeSum> Frozen { get; }

    /// <summary>Objects that were deleted and still have memory.</summary>
    public IReadOnlyList<TypeSum> Deleted { get; }

    /// <summary>Live objects that no root leads to.</summary>
    public IReadOnlyList<TypeSum> Unreachable { get; }

    /// <summary>References of live objects to deleted ones, by the two types.</summary>
    public IReadOnlyList<DanglingSum> Dangling { get; }

    /// <summary>The objects that retain most. Those that retain as much as an object that they hold, but for little of their own, are left out: it is there that the memory is held.</summary>
    public IEnumerable<ObjectSum> LargestRetained(int count)
    {
        const double Share = 0.99;
        long[] largest = new long[_graph.Count];
        for (int i = 0; i < _graph.Count; i++)
        {
            if (_dominators.Of[i] >= 0)
            {
                largest[_dominators.Of[i]] = Math.Max(largest[_dominators.Of[i]], _dominators.Retained[i]);
            }
        }

        return Largest(count, node => largest[node] >= _dominators.Retained[node] * Share ? 0 : _dominators.Retained[node]);
    }

    /// <summary>The largest live objects by themselves.</summary>
    public IEnumerable<ObjectSum> Largest(int count) => Largest(count, node => _graph.States[node] == ObjectState.Live ? _graph.Sizes[node] : 0);

    public IReadOnlyDictionary<RootKind, int> RootsByKind() => _graph.Roots.GroupBy(root => root.Kind).ToDictionary(group => group.Key, group => group.Count());

    private IEnumerable<ObjectSum> Largest(int count, Func<int, long> weight)
    {
        var queue = new PriorityQueue<int, (long, int)>();
        for (int i = 0; i < _graph.Count; i++)
        {
            long bytes = weight(i);
            if (bytes <= 0)
            {
                continue;
            }

            if (queue.Count < count)
            {
                queue.Enqueue(i, (bytes, -i));
            }
            else
            {
                queue.EnqueueDequeue(i, (bytes, -i));
            }
        }

        var found = new List<ObjectSum>();
        while (queue.TryDequeue(out int node, out _))
        {
            found.Add(new ObjectSum(node, _graph.TypeOf(node), _graph.Addresses[node], _graph.Sizes[node], _dominators.Retained[node]));
        }

        found.Reverse();
        return found;
    }

    // Of objects of the type, and of what they dominate; what an object of the same type dominates is its already.
    private long[] RetainedByType()
    {
        long[] retained = new long[_graph.TypeNames.Length];
        var open = new int[_graph.TypeNames.Length];
        // Children of the tree of dominators, then a walk of it that knows which types are above.
        int[] child = new int[_graph.Count], sibling = new int[_graph.Count];
        Array.Fill(child, -1);
        int top = -1;
        for (int i = _graph.Count - 1; i >= 0; i--)
        {
            if (!_dominators.IsReached(i))
            {
                continue;
            }

            int above = _dominators.Of[i];
            sibling[i] = above < 0 ? top : child[above];
            if (above < 0)
            {
                top = i;
            }
            else
            {
                child[above] = i;
            }
        }

        var path = new Stack<int>();
        for (int next = top; next >= 0 || path.Count != 0;)
        {
            if (next < 0)
            {
                int done = path.Pop();
                open[_graph.Types[done]] -= IsLive(done) ? 1 : 0;
                next = sibling[done];
                continue;
            }

            // What is frozen never goes.
            int type = _graph.Types[next];
            if (IsLive(next))
            {
                retained[type] += open[type]++ == 0 ? _dominators.Retained[next] : 0;
            }

            path.Push(next);
            next = child[next];
        }

        return retained;
    }

    private bool IsLive(int node) => _graph.States[node] == ObjectState.Live;

    private List<TypeSum> SumByType(Func<int, bool> counts, long[]? retained)
    {
        long[] objects = new long[_graph.TypeNames.Length], bytes = new long[_graph.TypeNames.Length];
        for (int i = 0; i < _graph.Count; i++)
        {
            if (counts(i))
            {
                objects[_graph.Types[i]]++;
                bytes[_graph.Types[i]] += _graph.Sizes[i];
            }
        }

        return [.. Enumerable.Range(0, objects.Length).Where(type => objects[type] != 0)
            .Select(type => new TypeSum(_graph.TypeNames[type], objects[type], bytes[type], retained?[type] ?? 0)).OrderByDescending(sum => sum.Bytes)];
    }

    private List<DanglingSum> FindDangling()
    {
        var sums = new Dictionary<(int From, int To), long>();
        for (int i = 0; i < _graph.Count; i++)
        {
            if (_graph.States[i] == ObjectState.Deleted)
            {
                continue;
            }

            foreach (int target in _graph.ReferencesOf(i))
            {
                if (target == HeapGraph.Gone || _graph.States[target] == ObjectState.Deleted)
                {
                    (int From, int To) types = (_graph.Types[i], target == HeapGraph.Gone ? HeapGraph.Gone : _graph.Types[target]);
                    sums[types] = sums.GetValueOrDefault(types) + 1;
                }
            }
        }

        return [.. sums.Select(sum => new DanglingSum(_graph.TypeNames[sum.Key.From], sum.Key.To == HeapGraph.Gone ? null : _graph.TypeNames[sum.Key.To], sum.Value)).OrderByDescending(sum => sum.Count)];
    }
}

/// <summary>Objects of a type. `Retained`: what would go with them, together.</summary>
internal readonly record struct TypeSum(string Type, long Count, long Bytes, long Retained);

/// <summary>An object, and what would go with it.</summary>
internal readonly record struct ObjectSum(int Node, string Type, long Address, long Bytes, long Retained);

/// <summary>References that a use of would throw for, or that read a deleted object. `To` is null where its memory was given back.</summary>
internal readonly record struct DanglingSum(string From, string? To, long Count);
