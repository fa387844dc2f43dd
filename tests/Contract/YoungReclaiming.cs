using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Reclaims of young objects: what old objects lead to stays, however it came there, and what nothing leads to goes.</summary>
internal static class YoungReclaiming
{
    private const int Rounds = 4, Many = 300;

    // Whether the setting has young reclaims at all; in a mode without them, others are made, of fewer objects: in debug mode each has a page of its own.
    private static readonly bool s_possible = Environment.GetEnvironmentVariable("FREEHOLD_RECLAIM_CONCURRENT") != "0" && Environment.GetEnvironmentVariable("FREEHOLD_DEBUG") is null;

    public static IEnumerable<Case> All()
    {
        yield return new("young-stores", _ => Stores());
        yield return new("young-moved", _ => Moved());
        yield return new("young-handles", _ => Handles());
        yield return new("young-statics", _ => Statics());
        yield return new("young-finalizers", _ => Finalizers());
        yield return new("young-collections", _ => Collections());
        yield return new("young-garbage", _ => Garbage());
    }

    private sealed class Node
    {
        public Node? Left, Right;
        public int Number;
        public Pair Pair;
        public object? Any;
    }

    private struct Pair
    {
        public object? First;
        public int Number;
        public object? Second;
    }

    private static Node[] s_old = [];
    private static object?[] s_references = [];
    private static Pair[] s_pairs = [];
    private static Node? s_static;
    private static object? s_generic;
    [ThreadStatic]
    private static Node? t_thread;

    // What there is becomes old; what this thread makes next lies in blocks that begin afterwards.
    private static void GrowOld()
    {
        Heap.Reclaim();
        GrowYoung();
    }

    private static void GrowYoung()
    {
        for (int i = 0; i < (s_possible ? 100_000 : 1_000); i++)
            GC.KeepAlive(new Pair[1]);
    }

    private static void ReclaimYoung()
    {
        long before = Heap.GetStatistics().YoungReclaims;
        for (int i = 0; i < 500 && s_possible && Heap.GetStatistics().YoungReclaims == before; i++)
        {
            GC.Collect(0);
            Thread.Sleep(i / 10);
        }
        if (Heap.GetStatistics().YoungReclaims == before)
            Heap.Reclaim();
    }

    private static void MakeOld()
    {
        s_old = [.. Enumerable.Range(0, Many).Select(i => new Node { Number = i })];
        s_references = new object?[200_000];
        s_pairs = new Pair[5_000];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Node Young(int number) => new() { Number = number, Left = new Node { Number = -number } };

    private static void Check(object? young, int number)
    {
        var node = (Node)young!;
        Expect.Equal(number, node.Number);
        Expect.Equal(-number, node.Left!.Number);
    }

    // Nothing of what it has made stays in registers or on the stack.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Apart(Action work)
    {
        var thread = new Thread(() =>
        {
            GrowYoung();
            work();
        });
        thread.Start();
        thread.Join();
    }

    private static void Stores()
    {
        MakeOld();
        for (int round = 0; round < Rounds; round++)
        {
            GrowOld();
            Apart(() => Store(round));
            ReclaimYoung();
            CheckStored(round);
            // Old by now.
            ReclaimYoung();
            CheckStored(round);
        }
        Heap.Verify();
    }

    private static void Store(int round)
    {
        for (int i = 0; i < Many; i++)
        {
            s_old[i].Left = Young(round + 8 * i);
            Interlocked.Exchange(ref s_old[i].Right, Young(round + 8 * i + 1));
            Node? before = s_old[i].Any as Node;
            Interlocked.CompareExchange(ref s_old[i].Any, Young(round + 8 * i + 2), before);
            s_old[i].Pair = new Pair { First = Young(round + 8 * i + 3), Second = Young(round + 8 * i + 4) };
            s_references[i * 600] = Young(round + 8 * i + 5);
            s_pairs[i * 16] = new Pair { First = Young(round + 8 * i + 6), Second = Young(round + 8 * i + 7) };
        }
        object?[] some = new object?[Many];
        for (int i = 0; i < Many; i++)
            some[i] = Young(i);
        Array.Copy(some, 0, s_references, 180_001, Many);
        some.AsSpan().CopyTo(s_references.AsSpan(199_000));
        Array.Copy(s_pairs, 0, s_pairs, 4_900, 17);
        s_generic = ((ICloneable)some).Clone();
    }

    private static void CheckStored(int round)
    {
        for (int i = 0; i < Many; i++)
        {
            Check(s_old[i].Left, round + 8 * i);
            Check(s_old[i].Right, round + 8 * i + 1);
            Check(s_old[i].Any, round + 8 * i + 2);
            Check(s_old[i].Pair.First, round + 8 * i + 3);
            Check(s_old[i].Pair.Second, round + 8 * i + 4);
            Check(s_references[i * 600], round + 8 * i + 5);
            Check(s_pairs[i * 16].First, round + 8 * i + 6);
            Check(s_pairs[i * 16].Second, round + 8 * i + 7);
            Check(s_references[180_001 + i], i);
            Check(s_references[199_000 + i], i);
            Check(((object[])s_generic!)[i], i);
        }
        Check(s_pairs[4_900].First, round + 6);
        Check(s_pairs[4_916].Second, round + 8 + 7);
    }

    // Old objects move: what they lead to, and what is stored by their old names, stays.
    private static void Moved()
    {
        for (int round = 0; round < Rounds; round++)
        {
            Node[] held = Sparse();
            GrowOld();
            Apart(() =>
            {
                for (int i = 0; i < held.Length; i++)
                    held[i].Left = Young(i);
            });
            Node other = held[23];
            Heap.Compact();
            // By whatever names the array has; many are old where no round has seen them.
            Apart(() =>
            {
                for (int i = 0; i < held.Length; i++)
                    held[i].Right = Young(i + 1);
            });
            ReclaimYoung();
            for (int i = 0; i < held.Length; i++)
            {
                Check(held[i].Left, i);
                Check(held[i].Right, i + 1);
            }
            // One reference on the stack alone, across a round.
            Node one = held[17];
            Apart(() => Heap.Compact());
            one.Any = Young(5);
            ReclaimYoung();
            Check(one.Any, 5);
            Check(held[17].Any, 5);
            // The same after a reclaim has taken the marks of the copies.
            GrowOld();
            other.Any = Young(6);
            ReclaimYoung();
            Check(other.Any, 6);
            Check(held[23].Any, 6);
        }
        Heap.Verify();
    }

    private static Node[] Sparse()
    {
        var all = new Node[s_possible ? 200_000 : 4_000];
        for (int i = 0; i < all.Length; i++)
            all[i] = new Node { Number = i };
        var kept = new Node[all.Length / 40];
        for (int i = 0; i < all.Length; i++)
        {
            if (i % 40 == 0)
                kept[i / 40] = all[i];
            else
                Heap.Delete(all[i]);
        }
        Heap.Delete(all);
        return kept;
    }

    private static void Handles()
    {
        MakeOld();
        var table = new ConditionalWeakTable<Node, object>();
        var strong = new GCHandle[Many];
        var weak = new WeakReference<Node>[Many];
        var forgotten = new WeakReference<Node>[Many];
        for (int round = 0; round < Rounds; round++)
        {
            GrowOld();
            Apart(() =>
            {
                for (int i = 0; i < Many; i++)
                {
                    table.AddOrUpdate(s_old[i], Young(round + i));
                    strong[i] = GCHandle.Alloc(Young(i));
                    weak[i] = new WeakReference<Node>((Node)strong[i].Target!);
                    forgotten[i] = new WeakReference<Node>(Young(i));
                }
            });
            ReclaimYoung();
            for (int i = 0; i < Many; i++)
            {
                Expect.True(table.TryGetValue(s_old[i], out object? young));
                Check(young, round + i);
                Check(strong[i].Target, i);
                Expect.True(weak[i].TryGetTarget(out Node? target) && ReferenceEquals(target, strong[i].Target));
                strong[i].Free();
                if (forgotten[i].TryGetTarget(out Node? there))
                    Check(there, i);
            }
            Apart(() => Heap.Compact());
            Heap.Reclaim();
            Expect.Equal(0, forgotten.Count(reference => reference.TryGetTarget(out _)));
        }
        Heap.Verify();
    }

    private static class Generic<T>
    {
        public static Node? Held;
        [ThreadStatic]
        public static Node? HeldByThread;
    }

    private static void Statics()
    {
        t_thread = new Node();
        Generic<string>.HeldByThread = new Node();
        for (int round = 0; round < Rounds; round++)
        {
            GrowOld();
            s_static = Young(1);
            t_thread = Young(2);
            Generic<string>.Held = Young(3);
            Generic<string>.HeldByThread = Young(4);
            Generic<int>.Held = Young(5);
            Span<Node?> onStack = [Young(6), null];
            ref Node? inside = ref Young(7).Left;
            ReclaimYoung();
            Check(s_static, 1);
            Check(t_thread, 2);
            Check(Generic<string>.Held, 3);
            Check(Generic<string>.HeldByThread, 4);
            Check(Generic<int>.Held, 5);
            Check(onStack[0], 6);
            Expect.Equal(-7, inside!.Number);
        }
    }

    private sealed class Finalizable(Node needed)
    {
        public static int Runs;
        public static Finalizable? Resurrected;
        public readonly Node Needed = needed;

        ~Finalizable()
        {
            Check(Needed, 9);
            Runs++;
            Resurrected = this;
        }
    }

    private static void Finalizers()
    {
        MakeOld();
        for (int round = 0; round < Rounds; round++)
        {
            GrowOld();
            int before = Finalizable.Runs;
            Apart(() => Make(Many));
            ReclaimYoung();
            for (long end = Environment.TickCount64 + 60_000; Volatile.Read(ref Finalizable.Runs) < before + Many && Environment.TickCount64 < end;)
            {
                GC.WaitForPendingFinalizers();
                // Where compaction came first they are old.
                Heap.Reclaim();
            }
            Expect.Equal(before + Many, Volatile.Read(ref Finalizable.Runs));
            ReclaimYoung();
            Check(Finalizable.Resurrected!.Needed, 9);
        }

        static void Make(int count)
        {
            for (int i = 0; i < count; i++)
                GC.KeepAlive(new Finalizable(Young(9)));
        }
    }

    // Threads that replace what collections hold, old and young, for a while.
    private static void Collections()
    {
        var dictionary = new ConcurrentDictionary<int, Node>();
        var queue = new ConcurrentQueue<Node>();
        var failures = new ConcurrentQueue<Exception>();
        int left = 3;
        Thread[] threads = [.. Enumerable.Range(0, 3).Select(seed => new Thread(() =>
        {
            try
            {
                var random = new Random(seed);
                var own = new List<Node>();
                for (int i = 0; i < (s_possible ? 15_000 : 1_000); i++)
                {
                    int key = random.Next(5_000);
                    dictionary[key] = Young(key);
                    if (dictionary.TryGetValue(random.Next(5_000), out Node? found))
                        Check(found, found.Number);
                    queue.Enqueue(Young(i));
                    if (queue.Count > 1_000 && queue.TryDequeue(out Node? first))
                        Check(first, first.Number);
                    own.Add(Young(i));
                    if (own.Count > 3_000)
                        own.RemoveRange(0, 2_000);
                    Node some = own[random.Next(own.Count)];
                    Check(some, some.Number);
                }
            }
            catch (Exception exception)
            {
                failures.Enqueue(exception);
            }
            Interlocked.Decrement(ref left);
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        while (Volatile.Read(ref left) != 0)
        {
            ReclaimYoung();
            if (Volatile.Read(ref left) % 2 == 0)
                Heap.Compact();
        }
        foreach (Thread thread in threads)
            thread.Join();
        Expect.True(failures.IsEmpty, failures.TryPeek(out Exception? failure) ? failure.ToString() : "");
        foreach ((int key, Node node) in dictionary)
            Check(node, key);
        Heap.Verify();
    }

    // A large heap under a stream of garbage: most of it goes without a look at what is old, by itself.
    private static void Garbage()
    {
        // 130 MB.
        var held = new Dictionary<int, byte[]>();
        int count = s_possible ? 200_000 : 2_000;
        for (int i = 0; i < count; i++)
            held[i] = new byte[600];
        Heap.Reclaim();
        HeapStatistics before = Heap.GetStatistics();
        object? last = null;
        // As long as the thread that reclaims has not had a processor.
        long end = Environment.TickCount64 + 120_000;
        bool waits = s_possible;
        for (long bytes = 0; bytes < (s_possible ? 300_000_000 : 10_000_000) || (Heap.GetStatistics().YoungReclaims == before.YoungReclaims && waits); bytes += 1_000_000)
        {
            for (int i = 0; i < 1_000; i++)
                last = new byte[976];
            waits = s_possible && Environment.TickCount64 < end && bytes < 20_000_000_000;
        }
        GC.KeepAlive(last);
        if (!s_possible)
            Heap.Reclaim();
        HeapStatistics after = Heap.GetStatistics();
        Expect.Equal(count, held.Count);
        Expect.True(!s_possible || after.YoungReclaims > before.YoungReclaims, $"{after.Reclaims - before.Reclaims} reclaims, none young");
        Expect.True(after.ReclaimedBytes > before.ReclaimedBytes);
    }
}
