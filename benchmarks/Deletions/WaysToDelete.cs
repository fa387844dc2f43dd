using BenchmarkDotNet.Attributes;
using Freehold.BenchmarkDotNet;

namespace Freehold.Benchmarks;

/// <summary>The ways in which a program's objects end, for each object that is made: on the stock collector, all of them are dropped.</summary>
[StockJob(launchCount: 1, warmupCount: 5, iterationCount: 15, baseline: true)]
[FreeholdJob(launchCount: 1, warmupCount: 5, iterationCount: 15)]
public class WaysToDelete
{
    private const int Count = 1_000;

    private readonly Node[] _made = new Node[Count];

    [Benchmark(OperationsPerInvoke = Count)]
    public int Delete()
    {
        Make();
        foreach (Node node in _made)
        {
            Heap.Delete(node);
        }

        return _made.Length;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public int DeleteAll()
    {
        var list = new List<Node>(Count);
        for (int i = 0; i < Count; i++)
        {
            list.Add(new Node(null));
        }

        int count = list.Count;
        Heap.DeleteAll(list);
        return count;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public int DeleteGraph()
    {
        Node root = MakeList();
        int value = root.Value;
        Heap.DeleteGraph(root);
        return value;
    }

    [Benchmark(OperationsPerInvoke = Count)]
    public int Scope()
    {
        using (Heap.Scope())
        {
            return MakeList().Value;
        }
    }

    /// <summary>What a program does that was not ported: the heap finds out.</summary>
    [Benchmark(OperationsPerInvoke = Count)]
    public int Drop() => MakeList().Value;

    private void Make()
    {
        for (int i = 0; i < _made.Length; i++)
        {
            _made[i] = new Node(null);
        }
    }

    private static Node MakeList()
    {
        Node? last = null;
        for (int i = 0; i < Count; i++)
        {
            last = new Node(last);
        }

        return last!;
    }

    private sealed class Node(Node? next)
    {
        public readonly Node? Next = next;
        public readonly int Value = 1;
    }
}
