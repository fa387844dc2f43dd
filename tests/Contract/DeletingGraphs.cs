using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary><c>Heap.DeleteGraph</c>: what only the root leads to goes, whatever its shape, and nothing else.</summary>
internal static class DeletingGraphs
{
    public static IEnumerable<Case> All()
    {
        yield return new("graph-shapes", _ => Shapes());
        yield return new("graph-roots", _ => Roots());
        yield return new("graph-finalizers", _ => Finalizers());
        yield return new("graph-finalizers-many", _ => ManyFinalizers());
        yield return new("graph-finalizers-again", _ => RegisteredAgain());
        yield return new("graph-finalizers-of-the-root", _ => OfTheRoot());
        yield return new("graph-wrong", _ => Wrong());
        yield return new("graph-threads", _ => Threads());
        yield return new("graph-model", arguments => Agrees(arguments.Length > 0 ? int.Parse(arguments[0]) : Environment.TickCount));
    }

    private sealed class Node(params Node?[] next)
    {
        public readonly Node?[] Next = next;
        public int Value = 42;
        public object? Other;
    }

    private static Node? s_static;
    private static readonly ConditionalWeakTable<Node, Node> s_table = [];

    // Made and deleted where no local of the caller names an inner node.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node Tree(int depth, Node? shared)
    {
        Node node = depth == 0 ? new(shared) : new(Tree(depth - 1, shared), Tree(depth - 1, shared), shared);
        if (node.Next[0] is { } child && child != shared)
            child.Other = node;  // a circle
        return node;
    }

    private static void Shapes()
    {
        for (int round = 0; round < 20; round++)
        {
            var shared = new Node() { Other = new List<int> { 1, 2, 3 } };
            Node root = Tree(8, shared);
            root.Other = new Dictionary<string, List<string>> { [round + "a"] = [round + "b"] };
            long inUse = GC.GetTotalMemory(false);
            DeletedGraph deleted = Heap.DeleteGraph(root);
            // 511 nodes, their arrays, and what is in the dictionary.
            Expect.True(deleted.Objects is > 1022 and < 1050, deleted.ToString());
            Expect.True(inUse - GC.GetTotalMemory(false) > 511 * 64);
            Expect.SecondDeleteThrows(root);
            Expect.Equal(42, shared.Value);
            Expect.Equal(6, ((List<int>)shared.Other!).Sum());
        }
        Expect.Equal(default, Heap.DeleteGraph(null));
        Expect.Equal(1L, Heap.DeleteGraph(new object()).Objects);
        Expect.Equal(new DeletedGraph(1, 5_000_024), Heap.DeleteGraph(new byte[5_000_000]));
    }

    // Who else leads to a part keeps it, and all that it leads to.
    private static void Roots()
    {
        Node root = Held(out WeakReference<Node> weak, out System.Runtime.InteropServices.GCHandle handle);
        Heap.DeleteGraph(root);
        Expect.Equal(43, s_static!.Next[0]!.Value);
        Expect.Equal(44, ((Node)handle.Target!).Value);
        Expect.True(!weak.TryGetTarget(out _));
        handle.Free();
        // The root goes whoever refers to it.
        var other = new Node(new Node(new Node()));
        Expect.Equal(3L, Heap.DeleteGraph(other.Next[0]!).Objects);  // with the array in between
        Expect.SecondDeleteThrows(other.Next[0]!);
        Expect.Equal(42, other.Value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node Held(out WeakReference<Node> weak, out System.Runtime.InteropServices.GCHandle handle)
    {
        var root = new Node(new Node(new Node() { Value = 43 }), new Node() { Value = 44 }, new Node());
        s_static = root.Next[0];
        handle = System.Runtime.InteropServices.GCHandle.Alloc(root.Next[1]);
        weak = new(root.Next[2]!);
        // Lives as long as its key.
        s_table.Add(root, new Node());
        return root;
    }

    private sealed class Finalizable(List<string> log, string name)
    {
        public object? Part;
        public bool Fails, DeletesPart;

        ~Finalizable()
        {
            log.Add(name + (Part is Finalizable part ? " with " + part.Name() : ""));
            if (DeletesPart)
                Heap.Delete(Part);
            if (Fails)
                throw new InvalidOperationException(name);
        }

        private string Name() => name;
    }

    // On this thread, the root's first, with everything alive; what one of them deletes is not finalized twice.
    private static void Finalizers()
    {
        var log = new List<string>();
        Expect.Equal(3L, Heap.DeleteGraph(new Finalizable(log, "a") { Part = new Finalizable(log, "b") { Part = new Finalizable(log, "c") } }).Objects);
        Expect.Equal("a with b, b with c, c", string.Join(", ", log));
        log.Clear();
        Expect.Equal(1L, Heap.DeleteGraph(new Finalizable(log, "a") { DeletesPart = true, Part = new Finalizable(log, "b") }).Objects);
        Expect.Equal("a with b, b", string.Join(", ", log));
        log.Clear();
        var failing = new Finalizable(log, "a") { Fails = true, Part = new Finalizable(log, "b") { Fails = true, Part = new Finalizable(log, "c") } };
        Expect.Equal("a", Expect.Throws<InvalidOperationException>(() => Heap.DeleteGraph(failing)).Message);
        Expect.Equal("a with b, b with c, c", string.Join(", ", log));
        Expect.SecondDeleteThrows(failing);
        string path = Path.GetTempFileName();
        FileStream file = File.OpenWrite(path);
        file.WriteByte(1);
        Heap.DeleteGraph(file);
        using (File.Open(path, FileMode.Open, FileAccess.ReadWrite, FileShare.None))
            Expect.SecondDeleteThrows(file);
        File.Delete(path);
    }

    private sealed class Counted
    {
        public static int Finalized;
        public byte[] Held = new byte[100];

        ~Counted()
        {
            Expect.Equal(100, Held.Length);
            Finalized++;
        }
    }

    // More than the first search has room for.
    private static void ManyFinalizers()
    {
        Expect.Equal(2001L, Heap.DeleteGraph(Enumerable.Range(0, 1000).Select(_ => new Counted()).ToArray()).Objects);
        Expect.Equal(1000, Counted.Finalized);
    }

    private sealed class Immortal
    {
        public static int Finalized;
        public Node Held = new();

        ~Immortal()
        {
            Expect.Equal(42, Held.Value);
            Finalized++;
            GC.ReRegisterForFinalize(this);
        }
    }

    // Stays, with what it needs; all else goes.
    private static void RegisteredAgain()
    {
        WeakReference weak = Make(out object root);
        Expect.Equal(2L, Heap.DeleteGraph(root).Objects);
        Expect.True(Immortal.Finalized > 1);
        Expect.Equal(42, ((Immortal)weak.Target!).Held.Value);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static WeakReference Make(out object root)
        {
            var immortal = new Immortal();
            root = new object?[] { immortal, new object() };
            return new WeakReference(immortal, trackResurrection: true);
        }
    }

    private sealed class DeletesItself
    {
        public static long Deleted;
        public Node Held = new();

        ~DeletesItself() => Deleted = Heap.DeleteGraph(this).Objects;
    }

    // A finalizer may delete its own object: the deletion that runs it ends the object's life.
    private static void OfTheRoot()
    {
        var root = new DeletesItself();
        Heap.Delete(root);
        Expect.Equal(1L, DeletesItself.Deleted);
        Expect.SecondDeleteThrows(root);
        root = new DeletesItself();
        Expect.Equal(1L, Heap.DeleteGraph(root).Objects);
        Expect.Equal(1L, DeletesItself.Deleted);
        Expect.SecondDeleteThrows(root);
        root = new DeletesItself();
        Heap.DeleteAll(new object[] { root });
        Expect.Equal(1L, DeletesItself.Deleted);
        Expect.SecondDeleteThrows(root);
    }

    private static void Wrong()
    {
        Expect.Throws<ArgumentException>(() => Heap.DeleteGraph("literal"));
        Expect.Throws<ArgumentException>(() => Heap.DeleteGraph(Thread.CurrentThread));
        Expect.Throws<ArgumentException>(() => Heap.DeleteGraph(typeof(int)));
        var gone = new Node(new Node());
        Heap.Delete(gone);
        long before = Heap.GetStatistics().DoubleDeletes;
        try
        {
            Heap.DeleteGraph(gone);
            Expect.True(false);
        }
        catch (DoubleDeleteException)
        {
            Expect.Equal(before + 1, Heap.GetStatistics().DoubleDeletes);
        }
        catch (DanglingReferenceException)
        {
        }
        // A thread is the runtime's, which finalizes it later.
        Expect.Equal(2L, Heap.DeleteGraph(EndedThread()).Objects);
        for (int i = 0; i < 3; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static object EndedThread()
        {
            var thread = new Thread(() => { });
            thread.Start();
            thread.Join();
            return new object?[] { thread, new Node() };
        }
    }

    // Others use what they share with the graphs, and make their own, meanwhile.
    private static void Threads()
    {
        var shared = new Node(new Node()) { Other = new List<int>(Enumerable.Range(0, 100)) };
        Parallel.For(0, 4, new ParallelOptions { MaxDegreeOfParallelism = 4 }, number =>
        {
            for (int round = 0; round < 50; round++)
            {
                Node root = Tree(4, shared);
                lock (shared)
                    Expect.Equal(4950, ((List<int>)shared.Other!).Sum());
                Expect.True(Heap.DeleteGraph(root).Objects >= 62);
                Expect.SecondDeleteThrows(root);
                Expect.Equal(42, shared.Next[0]!.Value);
            }
        });
    }

    private sealed class Numbered(int number)
    {
        public readonly int Number = number;
        public readonly List<Numbered> Next = [];
    }

    // Random graphs, reached from some of their nodes: what the model says stays is whole, what it says goes is gone.
    private static void Agrees(int seed)
    {
        Console.WriteLine($"seed {seed}");
        var random = new Random(seed);
        for (int round = 0; round < 60; round++)
        {
            int count = random.Next(2, 120), root = random.Next(count);
            int[][] edges = [.. Enumerable.Range(0, count).Select(_ => Enumerable.Range(0, random.Next(3)).Select(_ => random.Next(count)).ToArray())];
            int[] kept = [.. Enumerable.Range(0, count / 10).Select(_ => random.Next(count))];
            HashSet<int> stays = Reach(edges, kept, except: root), all = Reach(edges, [root], except: -1);
            Numbered[] roots = Make(edges, kept, root, out WeakReference<Numbered>[] weak);
            Numbered first = roots[^1];
            roots[^1] = null!;
            // A node is itself, a list and its array, unless nothing is in it.
            long expected = all.Where(i => !stays.Contains(i)).Sum(i => edges[i].Length == 0 ? 2 : 3);
            Expect.Equal(expected, Heap.DeleteGraph(first).Objects);
            for (int i = 0; i < count; i++)
            {
                bool lives = weak[i].TryGetTarget(out Numbered? node);
                Expect.Equal(stays.Contains(i), lives);
                if (lives)
                {
                    Expect.Equal(i, node!.Number);
                    Expect.Equal(edges[i].Length, node.Next.Count);
                }
            }
            GC.KeepAlive(roots);
        }
    }

    private static HashSet<int> Reach(int[][] edges, int[] from, int except)
    {
        var reached = new HashSet<int>();
        var stack = new Stack<int>(from);
        while (stack.TryPop(out int i))
        {
            if (i != except && reached.Add(i))
            {
                foreach (int next in edges[i])
                    stack.Push(next);
            }
        }
        return reached;
    }

    // The root is the last.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Numbered[] Make(int[][] edges, int[] kept, int root, out WeakReference<Numbered>[] weak)
    {
        Numbered[] nodes = [.. Enumerable.Range(0, edges.Length).Select(i => new Numbered(i))];
        for (int i = 0; i < edges.Length; i++)
        {
            foreach (int next in edges[i])
                nodes[i].Next.Add(nodes[next]);
        }
        weak = [.. nodes.Select(node => new WeakReference<Numbered>(node))];
        // One that is the root too is not kept by it.
        Numbered[] roots = [.. kept.Where(i => i != root).Select(i => nodes[i]), nodes[root]];
        Array.Clear(nodes);
        return roots;
    }
}
