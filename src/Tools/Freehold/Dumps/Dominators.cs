namespace Freehold.Tool.Dumps;

/// <summary>
/// The dominators of what roots reach (Lengauer and Tarjan, A Fast Algorithm for Finding Dominators in a Flowgraph, 1979, the simple version): the object without which nothing would lead to
/// another one. What an object dominates goes with it: that is what it retains.
/// </summary>
internal sealed class Dominators
{
    /// <summary>As dominator: only the roots together. As object: no root reaches it.</summary>
    public const int None = -1;

    // Nodes by the order in which a search in depth finds them. 0 stands before all roots.
    private readonly int[] _vertex;
    private readonly int[] _parent;
    private readonly int[] _ancestor;
    private readonly int[] _label;
    private readonly int[] _semi;
    private readonly int[] _order;
    private readonly HeapGraph _graph;
    private int _reached;

    private Dominators(HeapGraph graph)
    {
        _graph = graph;
        int nodes = graph.Count + 1;
        _vertex = new int[nodes];
        _parent = new int[nodes];
        _ancestor = new int[nodes];
        _label = new int[nodes];
        _semi = new int[nodes];
        _order = new int[graph.Count];
        Of = new int[graph.Count];
        Retained = new long[graph.Count];
    }

    /// <summary>The immediate dominator of each object.</summary>
    public int[] Of { get; }

    /// <summary>Bytes of each object and of all that it dominates; 0 for what no root reaches.</summary>
    public long[] Retained { get; }

    public bool IsReached(int node) => _order[node] != 0;

    public static Dominators Find(HeapGraph graph)
    {
        var dominators = new Dominators(graph);
        int[] starts = [.. graph.Starts()];
        dominators.Search(starts);
        dominators.FindAll(starts);
        return dominators;
    }

    private bool IsNode(int target) => target >= 0 && _graph.States[target] != ObjectState.Deleted;

    private void Search(int[] starts)
    {
        _reached = 1;
        // Of each node on the way: which reference comes next.
        var stack = new Stack<(int Node, int Next)>();
        foreach (int start in starts)
        {
            Enter(start, 0);
            while (stack.Count != 0)
            {
                (int node, int next) = stack.Pop();
                int end = _graph.FirstReference[node + 1];
                while (next < end && (!IsNode(_graph.References[next]) || _order[_graph.References[next]] != 0))
                {
                    next++;
                }

                if (next < end)
                {
                    stack.Push((node, next + 1));
                    Enter(_graph.References[next], _order[node]);
                }
            }
        }

        void Enter(int node, int from)
        {
            if (_order[node] == 0)
            {
                _vertex[_reached] = node;
                _parent[_reached] = from;
                _order[node] = _reached++;
                stack.Push((node, _graph.FirstReference[node]));
            }
        }
    }

    // References against their direction, in that order.
    private (int[] First, int[] From) Reverse(int[] starts)
    {
        int[] first = new int[_reached + 1];
        foreach (int start in starts)
        {
            first[_order[start] + 1]++;
        }

        for (int i = 1; i < _reached; i++)
        {
            foreach (int target in _graph.ReferencesOf(_vertex[i]))
            {
                if (IsNode(target))
                {
                    first[_order[target] + 1]++;
                }
            }
        }

        for (int i = 1; i <= _reached; i++)
        {
            first[i] += first[i - 1];
        }

        int[] from = new int[first[_reached]], next = first[..^1];
        foreach (int start in starts)
        {
            from[next[_order[start]]++] = 0;
        }

        for (int i = 1; i < _reached; i++)
        {
            foreach (int target in _graph.ReferencesOf(_vertex[i]))
            {
                if (IsNode(target))
                {
                    from[next[_order[target]]++] = i;
                }
            }
        }

        return (first, from);
    }

    private void FindAll(int[] starts)
    {
        (int[] first, int[] from) = Reverse(starts);
        int[] dominator = new int[_reached], bucket = new int[_reached], inBucket = new int[_reached];
        for (int i = 0; i < _reached; i++)
        {
            _semi[i] = _label[i] = i;
            _ancestor[i] = None;
            bucket[i] = None;
        }

        var path = new Stack<int>();
        for (int w = _reached - 1; w > 0; w--)
        {
            for (int i = first[w]; i < first[w + 1]; i++)
            {
                _semi[w] = Math.Min(_semi[w], _semi[Evaluate(from[i], path)]);
            }

            inBucket[w] = bucket[_semi[w]];
            bucket[_semi[w]] = w;
            int parent = _parent[w];
            _ancestor[w] = parent;
            for (int v = bucket[parent]; v != None; v = inBucket[v])
            {
                int u = Evaluate(v, path);
                dominator[v] = _semi[u] < _semi[v] ? u : parent;
            }

            bucket[parent] = None;
        }

        Array.Fill(Of, None);
        for (int w = 1; w < _reached; w++)
        {
            if (dominator[w] != _semi[w])
            {
                dominator[w] = dominator[dominator[w]];
            }

            Of[_vertex[w]] = dominator[w] == 0 ? None : _vertex[dominator[w]];
            Retained[_vertex[w]] = _graph.Sizes[_vertex[w]];
        }

        for (int w = _reached - 1; w > 0; w--)
        {
            if (dominator[w] != 0)
            {
                Retained[_vertex[dominator[w]]] += Retained[_vertex[w]];
            }
        }
    }

    // The node with the least semidominator on the way up, with that way made shorter. `path` is empty before and after.
    private int Evaluate(int v, Stack<int> path)
    {
        if (_ancestor[v] == None)
        {
            return v;
        }

        int top = v;
        for (; _ancestor[_ancestor[top]] != None; top = _ancestor[top])
        {
            path.Push(top);
        }

        while (path.TryPop(out int node))
        {
            int above = _ancestor[node];
            if (_semi[_label[above]] < _semi[_label[node]])
            {
                _label[node] = _label[above];
            }

            _ancestor[node] = _ancestor[above];
        }

        return _label[v];
    }
}
