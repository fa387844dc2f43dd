using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary><c>Heap.Delete</c> of what owns parts: in which order, what is left alone, and what mistakes do no harm.</summary>
internal static class Owning
{
    public static IEnumerable<Case> All()
    {
        yield return new("owned-fields", _ => Fields());
        yield return new("owned-order", _ => Order());
        yield return new("owned-circle", _ => Circle());
        yield return new("owned-shared", _ => Shared());
        yield return new("owned-chain", _ => Chain());
        yield return new("owned-failing-finalizer", _ => FailingFinalizer());
        yield return new("owned-runtime-objects", _ => RuntimeObjects());
        yield return new("owned-with-a-lock", _ => WithALock());
        yield return new("owned-elements", _ => Elements());
        yield return new("owned-delete-all", _ => DeleteAll());
        yield return new("owned-empty-arrays", _ => EmptyArrays());
        yield return new("owned-somebody-elses", _ => SomebodyElses());
        yield return new("owned-two-threads", _ => TwoThreads());
        yield return new("owned-while-moving", _ => WhileMoving());
        yield return new("owned-stale-spans", _ => StaleSpans());
    }

    private sealed class Leaf
    {
        public int Value = 1;
    }

    private class Base
    {
        [Owned]
        public object? First;
        public object? Other;
    }

    private sealed class Derived<T> : Base
        where T : class
    {
        [Owned]
        public T? Second;
        [Owned]
        public int[]? Numbers;
    }

    private static void Fields()
    {
        for (int i = 0; i < 1_000; i++)
        {
            var owner = new Derived<Leaf> { First = new Leaf(), Other = new Leaf(), Second = i % 2 == 0 ? null : new Leaf(), Numbers = new int[10] };
            (object first, object other, object? second, int[] numbers) = (owner.First, owner.Other, owner.Second, owner.Numbers);
            Heap.Delete(owner);
            Expect.SecondDeleteThrows(owner);
            Expect.SecondDeleteThrows(first);
            Expect.SecondDeleteThrows(numbers);
            if (second is not null)
                Expect.SecondDeleteThrows(second);
            Expect.Equal(1, ((Leaf)other).Value);
            Heap.Delete(other);
        }
    }

    private sealed class Finalizable(List<string> log, string name)
    {
        [Owned]
        public Finalizable? Part;

        ~Finalizable()
        {
            // The part is still there.
            log.Add(name + (Part is null ? "" : " with " + Part.Name()));
        }

        public string Name() => name;
    }

    private static void Order()
    {
        var log = new List<string>();
        Heap.Delete(new Finalizable(log, "a") { Part = new(log, "b") { Part = new(log, "c") } });
        Expect.Equal("a with b, b with c, c", string.Join(", ", log));
    }

    private sealed class Ring
    {
        [Owned]
        public Ring? Next;
    }

    private static void Circle()
    {
        long before = Heap.GetStatistics().DoubleDeletes;
        for (int length = 1; length < 100; length++)
        {
            var first = new Ring();
            Ring last = first;
            for (int i = 1; i < length; i++)
                last = last.Next = new Ring();
            last.Next = first;
            long objects = Heap.GetStatistics().DeletedObjects;
            Heap.Delete(first);
            Expect.True(Heap.GetStatistics().DeletedObjects - objects >= length);
        }
        Expect.Equal(before, Heap.GetStatistics().DoubleDeletes);
    }

    private static void Shared()
    {
        long before = Heap.GetStatistics().DoubleDeletes;
        var shared = new Leaf();
        Base one = new() { First = shared }, two = new() { First = shared };
        Heap.Delete(one);
        Heap.Delete(two);
        var gone = new Leaf();
        var three = new Base { First = gone };
        Heap.Delete(gone);
        Heap.Delete(three);
        // A collection that was deleted without its elements: they stay.
        var leaf = new Leaf();
        var list = new List<object?> { leaf };
        var four = new Collections { List = list };
        Heap.Delete(list);
        Heap.Delete(four);
        Expect.Equal(1, leaf.Value);
        Expect.Equal(before, Heap.GetStatistics().DoubleDeletes);
        Expect.SecondDeleteThrows(three);
        SharedByThreads();
    }

    private static void SharedByThreads()
    {
        for (int round = 0; round < 200; round++)
        {
            Leaf[] shared = [.. Enumerable.Range(0, 100).Select(_ => new Leaf())];
            Collections[] owners = [new() { Array = shared }, new() { List = [.. shared] }];
            Parallel.ForEach(owners, Heap.Delete);
        }
    }

    private static void Chain()
    {
        Ring? first = null;
        for (int i = 0; i < 1_000_000; i++)
            first = new Ring { Next = first };
        long objects = Heap.GetStatistics().DeletedObjects;
        Heap.Delete(first);
        Expect.True(Heap.GetStatistics().DeletedObjects - objects >= 1_000_000);
    }

    private sealed class Failing
    {
        [Owned]
        public Leaf Part = new();

        ~Failing() => throw new InvalidOperationException("finalizer");
    }

    private static void FailingFinalizer()
    {
        // Of a part: all else is deleted, then the exception comes.
        var failing = new Failing();
        var numbers = new int[5];
        var owner = new Derived<Failing> { First = new Leaf(), Second = failing, Numbers = numbers };
        object first = owner.First;
        Expect.Throws<InvalidOperationException>(() => Heap.Delete(owner));
        Expect.SecondDeleteThrows(owner);
        Expect.SecondDeleteThrows(first);
        Expect.SecondDeleteThrows(numbers);
        Expect.Equal(1, failing.Part.Value);
        Heap.Delete(failing);  // the second call frees it, with its part

        // Of the owner: nothing happens, and the second call deletes both.
        var other = new Failing();
        Leaf part = other.Part;
        Expect.Throws<InvalidOperationException>(() => Heap.Delete(other));
        Expect.Equal(1, part.Value);
        Heap.Delete(other);
        Expect.SecondDeleteThrows(part);
    }

    private static void RuntimeObjects()
    {
        var owner = new Derived<Type> { First = "a literal", Second = typeof(int), Numbers = [] };
        Heap.Delete(owner);
        Heap.Delete(new Base { First = Thread.CurrentThread });
        Expect.Equal("a literal", string.Concat("a ", "literal"));
        Expect.Equal("Int32", typeof(int).Name);
        Expect.True(Thread.CurrentThread.IsAlive);
    }

    private static void WithALock()
    {
        for (int i = 0; i < 100; i++)
        {
            var part = new Leaf();
            var owner = new Base { First = part };
            Monitor.Enter(owner);
            Monitor.Enter(part);
            Heap.Delete(owner);
            Expect.SecondDeleteThrows(part);
            var hashed = new Base { First = new Leaf() };
            object first = hashed.First;
            _ = RuntimeHelpers.GetHashCode(hashed) + RuntimeHelpers.GetHashCode(first);
            Contend(first);
            Contend(hashed);
            Heap.Delete(hashed);
            Expect.SecondDeleteThrows(first);
        }

        // A lock with an entry in the runtime's table.
        static void Contend(object value)
        {
            lock (value)
                Expect.True(!Monitor.Wait(value, 0));
        }
    }

    private sealed class Collections
    {
        [Owned(Elements = true)]
        public List<object?>? List;
        [Owned(Elements = true)]
        public Leaf?[]? Array;
        [Owned(Elements = true)]
        public Dictionary<string, Leaf>? Dictionary;
        [Owned]
        public List<Leaf>? OnlyTheList;
    }

    private static void Elements()
    {
        Leaf[] leaves = [.. Enumerable.Range(0, 10).Select(_ => new Leaf())];
        var owner = new Collections
        {
            List = [leaves[0], null, leaves[1], leaves[0], "literal"],
            Array = [leaves[2], null, leaves[3]],
            Dictionary = new() { ["a"] = leaves[4], ["b"] = leaves[5] },
            OnlyTheList = [leaves[6]],
        };
        object[] parts = [owner.List, owner.Array, owner.Dictionary, owner.OnlyTheList];
        Heap.Delete(owner);
        foreach (object gone in parts.Concat(leaves[..6]))
            Expect.SecondDeleteThrows(gone);
        foreach (Leaf left in leaves[6..])
            Expect.Equal(1, left.Value);
        Heap.Delete(new Collections());
    }

    private static void DeleteAll()
    {
        for (int kind = 0; kind < 6; kind++)
        {
            Leaf[] leaves = [.. Enumerable.Range(0, 100).Select(_ => new Leaf())];
            System.Collections.IEnumerable collection = kind switch
            {
                0 => new List<Leaf>(leaves),
                1 => leaves.ToArray(),
                2 => new HashSet<Leaf>(leaves),
                3 => leaves.ToDictionary(leaf => leaf, leaf => new Leaf()),
                4 => new LinkedList<Leaf>(leaves),
                _ => new Queue<object?>([.. leaves, null, leaves[0], "literal", 5]),
            };
            object? value = collection is Dictionary<Leaf, Leaf> dictionary ? dictionary[leaves[0]] : null;
            Heap.DeleteAll(collection);
            Expect.SecondDeleteThrows(collection);
            foreach (Leaf leaf in leaves)
                Expect.SecondDeleteThrows(leaf);
            if (value is not null)
                Expect.SecondDeleteThrows(value);
        }
        Heap.DeleteAll(null);
        Expect.Throws<ArgumentException>(() => Heap.DeleteAll("literal"));
    }

    private static void EmptyArrays()
    {
        for (int i = 0; i < 1_000; i++)
        {
            Heap.Delete(new List<string>());
            Heap.Delete(new Queue<string>());
            Heap.Delete(new Stack<string>());
            Heap.Delete(new PriorityQueue<string, int>());
            Heap.Delete(new SortedList<string, int>());
            Heap.Delete(new System.Collections.ArrayList());
        }
        Expect.Equal(0, new List<string>().ToArray().Length);
        Expect.Equal(0, Array.Empty<string>().Length);
        var list = new List<string> { "a" };
        var queue = new Queue<string>();
        queue.Enqueue("a");
        var sorted = new SortedList<string, int> { ["a"] = 1 };
        Expect.Equal(3, list.Count + queue.Count + sorted.Count);
        Expect.Equal(0, new System.Collections.ArrayList().ToArray().Length);
    }

    private static void SomebodyElses()
    {
        byte[] bytes = [1, 2, 3];
        var stream = new MemoryStream(bytes);
        Heap.Delete(stream);
        Expect.Equal(3, bytes[2]);

        var set = new SortedSet<int>(Enumerable.Range(0, 100));
        SortedSet<int> view = set.GetViewBetween(10, 20);
        Expect.Equal(11, view.Count);
        Heap.Delete(view);
        Expect.Equal(4950, set.Sum());

        var numbers = new MemoryStream();
        numbers.Write(bytes);
        var reader = new BinaryReader(numbers);
        Heap.Delete(reader);
        Expect.Equal(3L, numbers.Length);

        var builder = System.Collections.Immutable.ImmutableArray.CreateBuilder<int>(3);
        builder.AddRange(1, 2, 3);
        System.Collections.Immutable.ImmutableArray<int> moved = builder.MoveToImmutable();
        Heap.Delete(builder);
        Expect.Equal(6, moved.Sum());

        var list = new LinkedList<int>([1, 2, 3]);
        LinkedListNode<int> removed = list.First!;
        list.RemoveFirst();
        Heap.Delete(removed);
        Expect.Equal(5, list.Sum());
        LinkedListNode<int> node = list.First!;
        list.RemoveFirst();
        Heap.Delete(list);
        Expect.Equal(2, node.Value);
    }

    private static void TwoThreads()
    {
        // One of two deletions of the same list succeeds, and no other list is harmed.
        const int Lists = 5_000;
        List<int>[] lists = [.. Enumerable.Range(0, Lists).Select(i => new List<int>(Enumerable.Range(i, 20)))];
        int[] deleted = new int[Lists];
        Parallel.For(0, 2, new ParallelOptions { MaxDegreeOfParallelism = 2 }, _ =>
        {
            for (int i = 0; i < Lists; i++)
            {
                try
                {
                    Heap.Delete(lists[i]);
                    Interlocked.Increment(ref deleted[i]);
                }
                catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
                {
                }
            }
        });
        Expect.True(deleted.All(count => count is 1 or 2));  // 2: both began before either was done
        Heap.Verify();
    }

    private static void WhileMoving()
    {
        var random = new Random(5);
        var lists = new List<int>[2_000];
        var dictionaries = new Dictionary<int, string>[200];
        for (int round = 0; round < 30_000; round++)
        {
            ref List<int> list = ref lists[random.Next(lists.Length)];
            if (list is not null)
            {
                Expect.Equal(list.Count * (list.Count - 1) / 2, list.Sum());
                Heap.Delete(list);
            }
            list = [.. Enumerable.Range(0, random.Next(40))];
            if (round % 10 == 0)
            {
                ref Dictionary<int, string> dictionary = ref dictionaries[random.Next(dictionaries.Length)];
                if (dictionary is not null)
                    Heap.DeleteAll(dictionary);
                dictionary = Enumerable.Range(0, random.Next(30)).ToDictionary(i => i, i => i.ToString() + "x");
            }
            if (round % 10_000 == 0)
                Heap.Compact();
        }
    }

    private static void StaleSpans()
    {
        for (int i = 0; i < 100; i++)
        {
            var list = new List<int>(Enumerable.Range(0, 1000));
            Span<int> span = CollectionsMarshal.AsSpan(list);
            Heap.Delete(list);
            try
            {
                for (int at = 0; at < span.Length; at++)
                    Expect.Equal(at, span[at]);
            }
            catch (DanglingReferenceException)
            {
            }
        }
    }
}
