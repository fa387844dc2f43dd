using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json.Nodes;

namespace Freehold.Contract;

/// <summary><c>Heap.Scope</c>: what the thread makes inside and nobody outside can name is gone at its end, and nothing else.</summary>
internal static partial class Scopes
{
    public static IEnumerable<Case> All()
    {
        yield return new("scope-goes", _ => Goes());
        foreach ((string name, Func<Node, Func<Node?>> keep) in Keepers())
            yield return new("scope-kept-by-" + name, _ => Stays(keep));
        yield return new("scope-nested", _ => Nested());
        yield return new("scope-exception", _ => ThroughAnException());
        yield return new("scope-finalizers", _ => Finalizers());
        yield return new("scope-finalizers-again", _ => RegisteredAgain());
        yield return new("scope-weak", _ => WeakReferences());
        yield return new("scope-locks", _ => Locks());
        yield return new("scope-kept", _ => Kept());
        yield return new("scope-twice", _ => Twice());
        yield return new("scope-move-that-throws", _ => MoveThatThrows());
        yield return new("scope-outgrown", _ => Outgrown());
        yield return new("scope-threads", _ => Threads());
        yield return new("scope-threads-and-markings", _ => WithMarkings(Threads));
        yield return new("scope-threads-outside", _ => ThreadsOutside());
        yield return new("scope-requests", _ => Requests());
        yield return new("scope-model", arguments => Agrees(arguments.Length > 0 ? int.Parse(arguments[0]) : Environment.TickCount));
    }

    private sealed class Node(int value, Node? next = null)
    {
        public int Value = value;
        public Node? Next = next;
        public object? Other;

        // Three nodes and an array behind this one.
        public void Check(int value)
        {
            Expect.Equal(value, Value);
            Expect.Equal(value + 1, Next!.Value);
            Expect.Equal(value + 2, ((Node[])Next.Other!)[7].Value);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static Node Chain(int value)
        {
            var array = new Node[100];
            array[7] = new Node(value + 2);
            return new Node(value, new Node(value + 1) { Other = array });
        }
    }

    private struct Pair
    {
        public long Number;
        public Node? Node;
    }

    private static Node? s_static;
    private static Pair s_pair;
    private static readonly Dictionary<int, Node> s_table = [];
    private static readonly ConditionalWeakTable<object, Node> s_secondaries = [];
    private static readonly object s_key = new();
    private static event Func<Node>? Event;
    [ThreadStatic]
    private static Node? t_static;
    private static readonly AsyncLocal<Node?> s_flow = new();

    // What the compaction moves out of a scope stays.
    private static long Moved => Heap.GetStatistics().MovedObjects;

    private static void Goes()
    {
        Work(0);  // what is made once
        for (int round = 1; round < 30; round++)
        {
            long allocated = GC.GetAllocatedBytesForCurrentThread(), deleted = Heap.GetStatistics().DeletedBytes, moved = Moved, kept = Heap.GetStatistics().ScopesKept;
            using (Heap.Scope())
                Work(round);
            allocated = GC.GetAllocatedBytesForCurrentThread() - allocated;
            deleted = Heap.GetStatistics().DeletedBytes - deleted;
            // One in which addresses were used again stays.
            if (moved != Moved)
                continue;
            Expect.Equal(kept, Heap.GetStatistics().ScopesKept);
            if (deleted < 0.95 * allocated)
                throw new ContractException($"{deleted} of {allocated} bytes are gone");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Work(int round)
    {
        var list = new List<string>();
        for (int i = 0; i < 500; i++)
            list.Add($"{round} and {i}");
        Dictionary<int, string[]> groups = list.Where(text => text.Length > 3).GroupBy(text => text.Length).ToDictionary(group => group.Key, group => group.ToArray());
        var builder = new StringBuilder();
        foreach ((int length, string[] texts) in groups.OrderBy(pair => pair.Key))
            builder.Append(length).AppendJoin(',', texts);
        string text = JsonNode.Parse(new JsonObject { ["all"] = builder.ToString(), ["number"] = round }.ToJsonString())!["all"]!.GetValue<string>();
        Expect.Equal(builder.ToString(), text);
        Expect.Equal(100_000L, new long[100_000].Length + Node.Chain(round).Value - round);
        Expect.Equal(2, (new byte[3 << 20])[1] + 2);
    }

    // A bulk move out of an array that was deleted throws where its memory is gone. What it has moved until then is there.
    private static void MoveThatThrows()
    {
        const int Targets = 40;
        var targets = new object?[Targets][];
        var neighbours = new List<object>();
        int thrown = 0;
        for (int round = 0; round < 6; round++)
        {
            for (int i = 0; i < Targets; i++)
                targets[i] = new object?[2_000];
            using (Heap.Scope())
                Move(targets, neighbours, backward: round % 2 == 1, ref thrown);
            foreach (object?[] target in targets)
            {
                foreach (object? moved in target)
                {
                    ((Node?)moved)?.Check(5);
                    Heap.Delete(moved);  // it is not deleted yet
                }
            }
        }
        GC.KeepAlive(neighbours);
        if (Moved == 0)
            Expect.True(thrown > Targets, $"only {thrown} moves met dead memory");

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Move(object?[][] targets, List<object> neighbours, bool backward, ref int thrown)
        {
            // In debug mode each object has pages of its own, and the first use of what is deleted throws.
            int between = DebugMode.IsOn ? 500 : 100_000, step = DebugMode.IsOn ? 500 : 10;
            var sources = new object?[targets.Length][];
            for (int i = 0; i < sources.Length; i++)
            {
                neighbours.Add(new Node(1));  // on the first page
                sources[i] = new object?[2_000];
                for (int k = 0; k < 2_000; k += step)
                    sources[i][k] = Node.Chain(5);
                neighbours.Add(new Node(2));
            }
            for (int i = 0; i < between; i++)
                neighbours.Add(new Node(3));  // the blocks before are full
            foreach (object?[] source in sources)
                Heap.Delete(source);
            GC.Collect();
            for (int i = 0; i < sources.Length; i++)
            {
                try
                {
                    Array.Copy(sources[i], backward ? 1 : 0, targets[i], 0, 1_900);
                }
                catch (DanglingReferenceException)
                {
                    thrown++;
                }
            }
        }
    }

    // An array that a collection outgrows inside is noted nowhere outside.
    private static void Outgrown()
    {
        for (int i = 0; i < 32; i++)
        {
            var thread = new Thread(() =>
            {
                var outside = new List<long>();
                for (int i = 0; i < 500; i++)
                    outside.Add(i);
                var nodes = new List<WeakReference<Node>>(1_000);
                long moved = Moved;
                using (Heap.Scope())
                    Grow(nodes);
                if (moved == Moved)
                    Expect.True(nodes.All(node => !node.TryGetTarget(out _)), "an outgrown array keeps what it has");
            });
            thread.Start();
            thread.Join();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Grow(List<WeakReference<Node>> nodes)
        {
            var list = new List<Node>();
            for (int i = 0; i < 1_000; i++)
            {
                list.Add(new Node(i));
                nodes.Add(new WeakReference<Node>(list[i]));
            }
        }
    }

    private static IEnumerable<(string Name, Func<Node, Func<Node?>> Keep)> Keepers()
    {
        yield return ("static", node => { s_static = node; return () => s_static; });
        yield return ("static-structure", node => { s_pair = new Pair { Number = 1, Node = node }; return () => s_pair.Node; });
        yield return ("thread-static", node => { t_static = node; return () => t_static; });
        yield return ("dictionary", node => { s_table[0] = node; return () => s_table[0]; });
        yield return ("dictionary-grown", node => { for (int i = 1; i < 3000; i++) s_table[i] = node; return () => s_table[2345]; });
        yield return ("exchange", node => { Interlocked.Exchange(ref s_static, node); return () => s_static; });
        yield return ("compare-exchange", node => { s_static = null; Interlocked.CompareExchange(ref s_static, node, null); return () => s_static; });
        yield return ("handle", node => { GCHandle handle = GCHandle.Alloc(node); return () => (Node?)handle.Target; });
        yield return ("dependent-handle", node => { var handle = new DependentHandle(s_key, node); return () => (Node?)handle.Dependent; });
        yield return ("weak-table", node => { s_secondaries.AddOrUpdate(s_key, node); return () => s_secondaries.TryGetValue(s_key, out Node? found) ? found : null; });
        yield return ("event", node => { Event = () => node; return () => Event!(); });
        yield return ("flow", node => { s_flow.Value = node; return () => s_flow.Value; });
        yield return ("lazy", node => { var lazy = new Lazy<Node>(() => node); _ = lazy.Value; return () => lazy.Value; });
        yield return ("task", node => { Task<Node> task = Task.Run(async () => { await Task.Delay(1); return node; }); return () => task.Result; });
        yield return ("timer", node => { var source = new TaskCompletionSource<Node>(); Timer timer = new(_ => source.TrySetResult(node), null, 5, Timeout.Infinite); return () => { Node found = source.Task.Result; timer.Dispose(); return found; }; });
        yield return ("thread", node => { Node? found = null; var thread = new Thread(() => { Thread.Sleep(20); found = node; }); thread.Start(); return () => { thread.Join(); return found; }; });
    }

    private static Func<Node?>? s_get;

    private static void Stays(Func<Node, Func<Node?>> keep)
    {
        for (int round = 0; round < 10; round++)
        {
            int value = round * 10;
            using (Heap.Scope())
                s_get = Keep(keep, value);
            // Memory of what went is used again, or its use throws.
            for (int i = 0; i < 3; i++)
            {
                using (Heap.Scope())
                    Work(i);
            }
            s_get()!.Check(value);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Func<Node?> Keep(Func<Node, Func<Node?>> keep, int value) => keep(Node.Chain(value));

    private static void Nested()
    {
        long moved = Moved, objects = Heap.GetStatistics().ScopeObjects;
        var outside = new Node(1);
        using (Heap.Scope())
        {
            Node outer = Node.Chain(10);
            using (Heap.Scope())
            {
                outer.Other = Node.Chain(20);
                outside.Next = Node.Chain(30);
                for (int i = 0; i < 100; i++)
                {
                    using (Heap.Scope())
                    {
                        Node inner = Node.Chain(i);
                        inner.Other = outer;
                        if (i == 50)
                            outer.Next!.Next = inner;
                    }
                }
            }
            ((Node)outer.Other!).Check(20);
            outer.Next!.Next!.Check(50);
            outer.Check(10);
            if (moved == Moved)
                Expect.True(Heap.GetStatistics().ScopeObjects - objects >= 99 * 4);
        }
        outside.Next!.Check(30);
        Expect.True(moved != Moved || Heap.GetStatistics().ScopeObjects - objects >= 101 * 4);
    }

    private static void ThroughAnException()
    {
        for (int round = 0; round < 20; round++)
        {
            try
            {
                using (Heap.Scope())
                    Throw(round);
            }
            catch (InvalidOperationException exception)
            {
                Expect.Equal($"number {round}", exception.Message);
                ((Node)exception.Data["node"]!).Check(round);
                Expect.True(exception.StackTrace!.Contains(nameof(Throw)));
                Expect.Equal("inner", exception.InnerException!.Message);
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Throw(int round)
    {
        try
        {
            throw new ArgumentException(string.Concat("in", "ner".ToLowerInvariant()));
        }
        catch (ArgumentException inner)
        {
            throw new InvalidOperationException($"number {round}", inner) { Data = { ["node"] = Node.Chain(round) } };
        }
    }

    private static int s_finalized;
    private static Node? s_saved;

    private sealed class Finalizable(Node node)
    {
        public bool SavesItsNode, RegistersAgain;

        ~Finalizable()
        {
            node.Check(5);
            Interlocked.Increment(ref s_finalized);
            if (SavesItsNode)
                s_saved = node;
            if (RegistersAgain)
                GC.ReRegisterForFinalize(this);
        }
    }

    private static void Finalizers()
    {
        for (int round = 0; round < 10; round++)
        {
            s_finalized = 0;
            long moved = Moved;
            using (Heap.Scope())
                Make(100);
            // A reclaim beside it may have given some to the finalizer thread.
            Expect.Eventually(() => moved != Moved || Volatile.Read(ref s_finalized) == 100);
            s_saved?.Check(5);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Make(int count)
    {
        for (int i = 0; i < count; i++)
            _ = new Finalizable(Node.Chain(5)) { SavesItsNode = i == 50 };
    }

    private static void RegisteredAgain()
    {
        s_finalized = 0;
        long moved = Moved;
        using (Heap.Scope())
            MakeAgain();
        Expect.Eventually(() => moved != Moved || Volatile.Read(ref s_finalized) > 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeAgain() => _ = new Finalizable(Node.Chain(5)) { RegistersAgain = true };

    private static void WeakReferences()
    {
        long moved = Moved;
        var kept = new List<WeakReference<Node>>();
        var all = new List<WeakReference<Node>>();
        using (Heap.Scope())
            MakeWeak(kept, all);
        for (int i = 0; i < all.Count; i++)
        {
            if (i % 10 == 0)
                ((Node)s_table[i].Other!).Check(i);
            Expect.True(all[i].TryGetTarget(out Node? node) ? i % 10 == 0 || moved != Moved : i % 10 != 0);
            node?.Check(i);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeWeak(List<WeakReference<Node>> kept, List<WeakReference<Node>> all)
    {
        for (int i = 0; i < 100; i++)
        {
            Node node = Node.Chain(i);
            all.Add(new WeakReference<Node>(node));
            if (i % 10 == 0)
                s_table[i] = new Node(0) { Other = node };
        }
        kept.AddRange(all);
    }

    // Entries of the table of locks are released.
    private static void Locks()
    {
        for (int round = 0; round < 20; round++)
        {
            using (Heap.Scope())
                LockMany();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void LockMany()
    {
        var nodes = new Node[200];
        for (int i = 0; i < nodes.Length; i++)
        {
            Node node = nodes[i] = Node.Chain(i);
            _ = node.GetHashCode();
            lock (node)
            {
                lock (node.Next!)
                    node.Check(i);
            }
        }
    }

    private static void Kept()
    {
        var weak = new WeakReference<Node>(new Node(0));
        long objects = Heap.GetStatistics().ScopeObjects;
        HeapScope scope = Heap.Scope();
        Fill(weak);
        scope.Keep();
        scope.Dispose();
        Expect.Equal(objects, Heap.GetStatistics().ScopeObjects);
        Expect.True(weak.TryGetTarget(out Node? node));
        node!.Check(77);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Fill(WeakReference<Node> weak) => weak.SetTarget(Node.Chain(77));

    private static void Twice()
    {
        HeapScope outer = Heap.Scope();
        HeapScope first = Heap.Scope();
        first.Dispose();
        HeapScope second = Heap.Scope();
        var node = new WeakReference<Node>(new Node(0));
        Fill(node);
        first.Dispose();  // ends none but its own
        first.Keep();
        Expect.True(node.TryGetTarget(out _));
        outer.Dispose();
        second.Dispose();
        default(HeapScope).Dispose();
    }

    // A server that caches little: what lives does not grow.
    private static void Requests()
    {
        var cache = new Dictionary<int, string>();
        for (int i = 0; i < 20; i++)
        {
            using (Heap.Scope())
                Answer(cache, i);
        }
        long before = GC.GetTotalMemory(false), moved = Moved;
        for (int i = 0; i < 2000; i++)
        {
            using (Heap.Scope())
                Answer(cache, i);
        }
        long grown = GC.GetTotalMemory(false) - before;
        if (moved == Moved && grown > 1 << 20)
            throw new ContractException($"{grown} bytes are left");
        Expect.Equal("answer 7", cache[7]);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Answer(Dictionary<int, string> cache, int i)
    {
        string[] parts = [.. Enumerable.Range(0, 50).Select(part => $"{i}:{part}")];
        cache[i % 100] = "answer " + (i % 100);
        Expect.Equal(50, string.Join(';', parts).Split(';').Length);
    }
}
