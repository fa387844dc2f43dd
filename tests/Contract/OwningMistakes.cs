using System.Collections;
using System.Collections.Concurrent;
using System.Text.Json.Nodes;
using System.Xml.Linq;

namespace Freehold.Contract;

/// <summary>What the program's code throws or does while an object is deleted with what it owns, and deletion where no memory is left.</summary>
internal static class OwningMistakes
{
    public static IEnumerable<Case> All()
    {
        yield return new("owned-finalizer-that-uses-what-is-gone", _ => DanglingFinalizer());
        yield return new("owned-enumerator-that-uses-what-is-gone", _ => DanglingEnumerator());
        yield return new("owned-finalizer-of-a-collection-keeps-elements", _ => Pools());
        yield return new("owned-values-make-no-boxes", _ => Values());
        yield return new("owned-buffers-of-pending-calls", _ => PendingCalls());
        yield return new("out-of-memory-deletion", arguments => WithoutMemory(long.Parse(arguments[0])));
    }

    // So large that its memory goes at once.
    private static byte[] Gone()
    {
        byte[] gone = new byte[1 << 20];
        Heap.Delete(gone);
        return gone;
    }

    private sealed class Part
    {
        public byte[] Gone = OwningMistakes.Gone();
        public bool Ended;

        ~Part()
        {
            if (Gone.Length > 0)
                Ended = Gone[5] == 0;
        }
    }

    private sealed class Owner
    {
        [Owned]
        public object? First;
        [Owned]
        public Part? Second;
        [Owned]
        public object? Third;
    }

    private static void DanglingFinalizer()
    {
        var part = new Part();
        var owner = new Owner { First = new int[3], Second = part, Third = new int[4] };
        (object first, object third) = (owner.First, owner.Third);
        Expect.Throws<DanglingReferenceException>(() => Heap.Delete(owner));
        foreach (object gone in new[] { owner, first, third })
            Expect.SecondDeleteThrows(gone);
        Heap.Delete(part);  // its finalizer has run
        Expect.SecondDeleteThrows(part);
    }

    private sealed class Sequence(object[] elements) : IEnumerable
    {
        public byte[]? Gone;

        public IEnumerator GetEnumerator()
        {
            foreach (object element in elements)
                yield return element;
            if (Gone?[5] == 1)
                yield return this;
        }
    }

    private sealed class OwnerOfSequence
    {
        [Owned]
        public OwnerOfSequence? Inner;
        [Owned(Elements = true)]
        public Sequence? Elements;
    }

    private static void DanglingEnumerator()
    {
        int[][] elements = [[1], [2]];
        var sequence = new Sequence(elements) { Gone = Gone() };
        var inner = new OwnerOfSequence { Elements = sequence };
        var owner = new OwnerOfSequence { Inner = inner };
        Expect.Throws<DanglingReferenceException>(() => Heap.Delete(owner));
        Expect.SecondDeleteThrows(owner);
        Expect.Equal(3, elements[0][0] + elements[1][0]);
        sequence.Gone = null;
        Heap.Delete(inner);  // is there with what it could not name
        foreach (object gone in elements)
            Expect.SecondDeleteThrows(gone);
        int[][] others = [[3]];
        sequence = new Sequence(others) { Gone = Gone() };
        Expect.Throws<DanglingReferenceException>(() => Heap.DeleteAll(sequence));
        Expect.Equal(3, others[0][0]);
        sequence.Gone = null;
        Heap.DeleteAll(sequence);
        Expect.SecondDeleteThrows(others[0]);
    }

    private sealed class Pool(Stack<int[]> pool) : IEnumerable
    {
        private readonly List<int[]> _rented = [new int[1], new int[2]];

        ~Pool()
        {
            foreach (int[] rented in _rented)
                pool.Push(rented);
            _rented.Clear();
        }

        public IEnumerator GetEnumerator() => _rented.GetEnumerator();
    }

    private sealed class OwnerOfPool
    {
        [Owned(Elements = true)]
        public Pool? Pool;
    }

    private static void Pools()
    {
        var pool = new Stack<int[]>();
        var first = new Pool(pool);
        Heap.DeleteAll(first);
        Expect.SecondDeleteThrows(first);
        var second = new Pool(pool);
        Heap.Delete(new OwnerOfPool { Pool = second });
        Expect.SecondDeleteThrows(second);
        Expect.Equal(4, pool.Count);
        Expect.Equal(6, pool.Sum(rented => rented.Length));
        Heap.DeleteAll(pool);
    }

    private static IEnumerable<(string Name, Func<SlowStream, (object Owner, Task Pending)> Begin)> Calls()
    {
        byte[] bytes = [1, 2, 3];
        yield return ("buffered-write", slow =>
        {
            var stream = new BufferedStream(slow, 10_000);
            stream.Write(bytes);
            return (stream, stream.FlushAsync());
        }
        );
        yield return ("buffered-read", slow =>
        {
            var stream = new BufferedStream(slow, 10_000);
            return (stream, stream.ReadAsync(new byte[3]).AsTask());
        }
        );
        yield return ("reader", slow =>
        {
            var reader = new StreamReader(slow);
            return (reader, reader.ReadToEndAsync());
        }
        );
        yield return ("reader-of-lines", slow =>
        {
            var reader = new StreamReader(slow);
            return (reader, reader.ReadLineAsync());
        }
        );
        yield return ("reader-of-memory", slow =>
        {
            var reader = new StreamReader(slow);
            return (reader, reader.ReadAsync(new char[10].AsMemory()).AsTask());
        }
        );
        yield return ("reader-of-blocks", slow =>
        {
            var reader = new StreamReader(slow);
            return (reader, reader.ReadBlockAsync(new char[10].AsMemory()).AsTask());
        }
        );
        yield return ("writer", slow =>
        {
            var writer = new StreamWriter(slow) { AutoFlush = true };
            return (writer, writer.WriteAsync("text"));
        }
        );
        yield return ("writer-of-lines", slow =>
        {
            var writer = new StreamWriter(slow);
            return (writer, writer.WriteLineAsync(new string('x', 100_000)));
        }
        );
        yield return ("memory-copy", slow =>
        {
            var stream = new MemoryStream();
            stream.Write(bytes);
            stream.Position = 0;
            return (stream, stream.CopyToAsync(slow));
        }
        );
    }

    private static void PendingCalls()
    {
        foreach ((string name, Func<SlowStream, (object Owner, Task Pending)> begin) in Calls())
        {
            for (int i = 0; i < 20; i++)
            {
                var slow = new SlowStream();
                (object owner, Task pending) = begin(slow);
                if (pending.IsCompleted || !System.Runtime.InteropServices.MemoryMarshal.TryGetArray(slow.Given, out ArraySegment<byte> given))
                    throw new ContractException($"{name} did not wait");
                Heap.Delete(owner);
                try
                {
                    Heap.Delete(given.Array);  // it is there: only we know that nobody uses it
                }
                catch (DoubleDeleteException)
                {
                    throw new ContractException($"{name}: what the pending call has is deleted");
                }
            }
        }
    }

    private sealed class OwnerOfValues
    {
        [Owned(Elements = true)]
        public IEnumerable? Values;
    }

    private static void Values()
    {
        IEnumerable<int> numbers = Enumerable.Range(0, 10_000);
        for (int round = 0; round < 2; round++)
        {
            IEnumerable[] collections =
            [
                new List<int>(numbers), numbers.ToArray(), new HashSet<int>(numbers), new Queue<int>(numbers), new Stack<(int, int)>(numbers.Select(i => (i, i))),
                new LinkedList<int>(numbers), numbers.ToDictionary(i => i, i => (long)i), new ConcurrentQueue<int>(numbers), new SortedSet<int>(numbers),
            ];
            foreach (IEnumerable collection in collections)
            {
                string name = collection.GetType().ToString();
                // Notes of nodes grow to as many as there are.
                long notes = collection is LinkedList<int> ? 1 << 18 : 0;
                long before = GC.GetAllocatedBytesForCurrentThread();
                if (round == 0)
                    Heap.DeleteAll(collection);
                else
                    Heap.Delete(new OwnerOfValues { Values = collection });
                long allocated = GC.GetAllocatedBytesForCurrentThread() - before;
                // Boxes would be 240,000 bytes. The runtime's own, such as a larger cache of casts, are some thousands on whichever thread needs it.
                if (allocated > 100_000 + notes)
                    throw new ContractException($"{name}: {allocated} bytes");
            }
        }
        // Boxes that the program made are its objects.
        object[] boxes = [1, 2L, 'c'];
        Heap.DeleteAll(new ArrayList(boxes));
        foreach (object box in boxes)
            Expect.SecondDeleteThrows(box);
    }

    private static void WithoutMemory(long limit)
    {
        const int Nodes = 20_000;
        IEnumerable<int> numbers = Enumerable.Range(0, Nodes);
        (string Name, Func<object> Make, int Least)[] makers =
        [
            ("linked-list", () => new LinkedList<int>(numbers), Nodes),
            ("sorted-set", () => new SortedSet<int>(numbers), Nodes),
            ("concurrent-dictionary", () => new ConcurrentDictionary<int, int>(numbers.Select(i => KeyValuePair.Create(i, i))), Nodes),
            ("concurrent-stack", () => new ConcurrentStack<int>(numbers), Nodes),
            ("array-of-lists", () => new OwnerOfSequence { Elements = new Sequence([.. numbers.Select(i => new List<int> { i })]) }, 2 * Nodes),
            ("xml", () => new XElement("root", numbers.Select(i => new XElement("child", new XAttribute("x", "y")))), 2 * Nodes),
            ("json", () => new JsonArray([.. numbers.Select(i => (JsonNode)JsonValue.Create(i))]), Nodes),
        ];
        Heap.Delete(new List<int> { 1 });  // the thread has its place for notes
        foreach ((string name, Func<object> make, int least) in makers)
        {
            Heap.DeleteAll(new object[2_000]);
            object value = make();
            object?[] fill = Fill(limit);
            long before = Heap.GetStatistics().DeletedObjects;
            Exception? failure = null;
            try
            {
                Heap.Delete(value);
            }
            catch (Exception exception)
            {
                failure = exception;
            }
            long deleted = Heap.GetStatistics().DeletedObjects - before;
            Heap.DeleteAll(fill);
            if (failure is not null || deleted < least)
                throw new ContractException($"{name}: {deleted} objects of {least} are deleted, {failure}");
        }

        WithoutMemoryForAll(limit);
    }

    private sealed class Chained(int value, Chained? next)
    {
        public readonly int Value = value;
        public readonly Chained? Next = next;
    }

    // Reads the object that it has given last.
    private static IEnumerable<Chained> Walk(Chained? first)
    {
        for (Chained? node = first; node is not null; node = node.Next)
            yield return node;
    }

    private sealed class Refusing
    {
        public static readonly InvalidOperationException Refusal = new("a finalizer of a test");
        public static int Refused;

        ~Refusing()
        {
            Refused++;
            throw Refusal;
        }
    }

    private sealed class OwnerOfRefusing
    {
        [Owned(Elements = true)]
        public object[] Parts = [.. Enumerable.Range(0, 100).Select(i => i % 10 == 5 ? new Refusing() : new object())];
    }

    // Deletes what fails in its finalizer and in all others, and what is left in both.
    private sealed class Nested
    {
        public object[]? Inner;

        ~Nested() => Heap.DeleteAll(Inner!);
    }

    private static void WithoutMemoryForAll(long limit)
    {
        OnNewThread(limit, () =>
        {
            Chained? first = null;
            for (int i = 0; i < 2_000; i++)
                first = new Chained(i, first);
            return Walk(first);
        }, walk => Heap.DeleteAll((IEnumerable)walk), 2_000);
        OnNewThread(limit, () => new List<int>(Enumerable.Range(0, 100)), list => Heap.DeleteAll((IEnumerable)list), 1);
        OnNewThread(limit, () => Enumerable.Range(0, 100).ToDictionary(i => i, i => new object()), table => Heap.DeleteAll((IEnumerable)table), 1);
        object[] nested = [.. Enumerable.Range(0, 100).Select(_ => (object)new Nested { Inner = [new object(), new object()] })];
        OnNewThread(limit, () => nested, all => Heap.DeleteAll((IEnumerable)all), 100 * 4);
        // Every part goes, and the owner; the first exception is told at the end.
        var owner = new OwnerOfRefusing();
        object[] parts = owner.Parts, copy = [.. owner.Parts];
        OnNewThread(limit, () => owner, DeleteRefusing, 91);
        Expect.Equal(10, Refusing.Refused);
        Expect.SecondDeleteThrows(owner);
        foreach (object part in copy)
        {
            if (part is Refusing)
                Heap.Delete(part);  // its finalizer has run, and so it was still there
            else
                Expect.SecondDeleteThrows(part);
        }

        GC.KeepAlive(parts);
    }

    private static void DeleteRefusing(object value)
    {
        try
        {
            Heap.Delete(value);
        }
        catch (InvalidOperationException exception) when (ReferenceEquals(exception, Refusing.Refusal))
        {
            return;
        }

        throw new ContractException("no finalizer has refused");
    }

    // A thread that has no place for notes yet, and gets none.
    private static void OnNewThread(long limit, Func<object> make, Action<object> delete, int least)
    {
        Exception? failure = null;
        long deleted = 0;
        var thread = new Thread(() =>
        {
            Heap.Delete(new OwnerOfValues());  // the thread has its statics
            object value = make();
            object?[] fill = Fill(limit);
            long before = Heap.GetStatistics().DeletedObjects;
            try
            {
                delete(value);
            }
            catch (Exception exception)
            {
                failure = exception;
            }

            deleted = Heap.GetStatistics().DeletedObjects - before;
            Heap.DeleteAll(fill);
        });
        thread.Start();
        thread.Join();
        if (failure is not null || deleted < least)
            throw new ContractException($"{make.Method.Name}: {deleted} objects of {least} are deleted, {failure}");
    }

    // Until the heap has no room for the smallest list of notes.
    private static object?[] Fill(long limit)
    {
        var fill = new object?[1 << 17];
        int count = 0;
        foreach (int size in new[] { 4 << 20, 100_000, 10_000, 1_000, 200 })
        {
            try
            {
                while (count < fill.Length)
                    fill[count++] = new byte[size];
            }
            catch (OutOfMemoryException)
            {
                count--;
            }
        }
        Expect.True(count < fill.Length, $"{count} arrays do not fill {limit} bytes");
        return fill;
    }
}
