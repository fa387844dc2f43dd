using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Scopes whose objects other threads come to.</summary>
internal static partial class Scopes
{
    // Scopes end at any time of a marking, which takes a while beside 20,000 objects.
    private static void WithMarkings(Action work)
    {
        Node? list = null;
        for (int i = 0; i < 20_000; i++)
            list = new Node(i, list);
        bool ends = false;
        var marker = new Thread(() =>
        {
            while (!Volatile.Read(ref ends))
                Heap.Reclaim();
        });
        marker.Start();
        work();
        Volatile.Write(ref ends, true);
        marker.Join();
        for (int i = 19_999; list is not null; i--, list = list.Next)
            Expect.Equal(i, list.Value);
    }

    // Threads with scopes that give each other objects, by fields of objects of their scopes and outside.
    private static void Threads()
    {
        var mailboxes = new Node?[64];
        var queue = new ConcurrentQueue<Node>();
        int failures = 0;
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(seed => new Thread(() =>
        {
            try
            {
                var random = new Random(seed);
                for (int round = 0; round < 300; round++)
                {
                    using (Heap.Scope())
                        Exchange(mailboxes, queue, random);
                }
            }
            catch (Exception exception)
            {
                Console.Error.WriteLine(exception);
                Interlocked.Increment(ref failures);
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Expect.Equal(0, failures);
        foreach (Node? node in mailboxes)
            node?.Check(node.Value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Exchange(Node?[] mailboxes, ConcurrentQueue<Node> queue, Random random)
    {
        Node own = Node.Chain(random.Next(1000));
        for (int i = 0; i < 20; i++)
        {
            Node made = Node.Chain(random.Next(1000));
            Node? found = Interlocked.Exchange(ref mailboxes[random.Next(mailboxes.Length)], made);
            found?.Check(found.Value);
            if (random.Next(2) == 0)
                queue.Enqueue(own);
            if (queue.TryDequeue(out Node? taken))
            {
                taken.Check(taken.Value);
                own = new Node(taken.Value, taken.Next) { Other = found };
            }
            if (found is not null && random.Next(3) == 0)
                mailboxes[random.Next(mailboxes.Length)] = new Node(found.Value, found.Next);
        }
    }

    // Threads without a scope hold what they found in one when it ends.
    private static void ThreadsOutside()
    {
        Node?[] box = new Node?[1];
        bool stop = false;
        int failures = 0, seen = 0;
        Thread[] readers = [.. Enumerable.Range(0, 2).Select(_ => new Thread(() =>
        {
            Node? saved = null;
            while (!Volatile.Read(ref stop))
            {
                Node? node = Volatile.Read(ref box[0]);
                try
                {
                    node?.Check(node.Value);
                    saved?.Check(saved.Value);
                    saved = node is null ? saved : new Node(node.Value, node.Next);
                    Interlocked.Increment(ref seen);
                }
                catch (Exception exception)
                {
                    Console.Error.WriteLine(exception);
                    Interlocked.Increment(ref failures);
                    return;
                }
            }
        }))];
        Array.ForEach(readers, reader => reader.Start());
        for (int round = 0; round < 200 && failures == 0; round++)
        {
            using (Heap.Scope())
                Show(box, round);
        }
        Volatile.Write(ref stop, true);
        Array.ForEach(readers, reader => reader.Join());
        Expect.Equal(0, failures);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Show(Node?[] box, int round)
    {
        Volatile.Write(ref box[0], Node.Chain(round));
        if (round % 8 == 0)
            Thread.Yield();
        Volatile.Write(ref box[0], null);
    }
}
