namespace Freehold.Differential.Programs;

/// <summary>A lock-free stack and queue built on Interlocked.CompareExchange of references.</summary>
internal static partial class LockFree
{
    private sealed class Node(int value)
    {
        public readonly int Value = value;
        public Node? Next;
    }

    private sealed class Stack
    {
        private Node? _top;

        public void Push(int value)
        {
            var node = new Node(value);
            do
            {
                node.Next = Volatile.Read(ref _top);
            }
            while (Interlocked.CompareExchange(ref _top, node, node.Next) != node.Next);
        }

        public bool TryPop(out int value)
        {
            while (Volatile.Read(ref _top) is { } top)
            {
                if (Interlocked.CompareExchange(ref _top, top.Next, top) == top)
                {
                    value = top.Value;
                    return true;
                }
            }
            value = 0;
            return false;
        }
    }

    private sealed class Queue
    {
        private Node _head = new(0);
        private Node _tail;

        public Queue() => _tail = _head;

        public void Enqueue(int value)
        {
            var node = new Node(value);
            while (true)
            {
                Node tail = Volatile.Read(ref _tail);
                Node? next = Volatile.Read(ref tail.Next);
                if (next is not null)
                    Interlocked.CompareExchange(ref _tail, next, tail);
                else if (Interlocked.CompareExchange(ref tail.Next, node, null) is null)
                {
                    Interlocked.CompareExchange(ref _tail, node, tail);
                    return;
                }
            }
        }

        public bool TryDequeue(out int value)
        {
            while (true)
            {
                Node head = Volatile.Read(ref _head);
                Node? next = Volatile.Read(ref head.Next);
                if (next is null)
                {
                    value = 0;
                    return false;
                }
                if (Interlocked.CompareExchange(ref _head, next, head) == head)
                {
                    value = next.Value;
                    return true;
                }
            }
        }
    }

    public static void Run()
    {
        var stack = new Stack();
        var queue = new Queue();
        long popped = 0, dequeued = 0;
        Thread[] threads = [.. Enumerable.Range(0, 6).Select(id => new Thread(() =>
        {
            long mine = 0, other = 0;
            for (int i = 0; i < 15_000; i++)
            {
                stack.Push(id * 15_000 + i);
                queue.Enqueue(i);
                if (i % 3 != 0)
                {
                    if (stack.TryPop(out int value))
                        mine += value;
                    if (queue.TryDequeue(out value))
                        other += value;
                }
            }
            Interlocked.Add(ref popped, mine);
            Interlocked.Add(ref dequeued, other);
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        int left = 0;
        while (stack.TryPop(out int value))
        {
            popped += value;
            left++;
        }
        while (queue.TryDequeue(out int value))
            dequeued += value;
        Console.WriteLine(popped + " " + dequeued + " " + left);
        object? slot = null;
        object first = "first";
        Console.WriteLine((Interlocked.Exchange(ref slot, first) is null) + " " + ReferenceEquals(Interlocked.CompareExchange(ref slot, "second", first), first) + " " + slot);
        long counter = 0;
        int bits = 0;
        Parallel.For(0, 10_000, i =>
        {
            Interlocked.Add(ref counter, i);
            Interlocked.Or(ref bits, 1 << (i % 31));
        });
        Console.WriteLine(counter + " " + bits);
        Exchange(1, 2);
        Exchange((byte)1, (byte)2);
        Exchange(1.5, 2.5);
        Exchange(true, false);
        Exchange(DayOfWeek.Monday, DayOfWeek.Friday);
        Exchange("one", "two");
        Exchange<object>("one", 2);
        Exchange(new int[1], new int[2]);
        Exchange<int?>(1, 2);
        Exchange<Wrapped?>(new Wrapped("one"), new Wrapped("two"));
        Exchange(new Wrapped("one"), new Wrapped("two"));
        Exchange(("one", 1), ("two", 2));
        Exchange(Guid.Empty, new Guid("11111111-2222-3333-4444-555555555555"));
    }

    // A value type as large as a reference, and made of one.
    private readonly record struct Wrapped(string Text);

    // The type is known only where the method is used: what is neither a reference nor primitive is refused.
    private static void Exchange<T>(T from, T to)
    {
        T place = from;
        try
        {
            T seen = Interlocked.CompareExchange(ref place, to, from);
            T refused = Interlocked.CompareExchange(ref place, from, from);
            Console.WriteLine($"{typeof(T).Name}: {Equals(seen, from)} {Equals(place, to)} {Equals(refused, to)}");
        }
        catch (NotSupportedException)
        {
            Console.WriteLine($"{typeof(T).Name}: not supported, {Equals(place, from)}");
        }
    }
}
