using System.Collections;
using System.Collections.Immutable;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Channels;

namespace Freehold.Contract;

/// <summary>Arrays that collections outgrow go while the program runs, but not while a span, a reference or another thread's read leads to one.</summary>
internal static class Outgrowing
{
    private const int Many = 100_000;
    private static readonly object s_object = new();

    public static IEnumerable<Case> All() =>
    [
        .. Makers().Select(maker => new Case("outgrown-by-" + maker.Name, _ => Goes(maker.Make))),
        new("outgrown-span", _ => SpanStays()),
        new("outgrown-reference", _ => ReferenceStays()),
        new("outgrown-pointer", _ => PointerStays()),
        new("outgrown-memory", _ => MemoryStays()),
        new("outgrown-enumerator", _ => CurrentOfEnumeratorStays()),
        new("outgrown-readers-of-list", _ => ReadersOfList()),
        new("outgrown-readers-of-hashtable", _ => ReadersOfHashtable()),
        new("outgrown-threads", _ => Threads()),
        new("outgrown-shrinks", _ => Shrinks()),
        new("outgrown-small", _ => Small()),
        new("outgrown-collected", _ => Collected()),
    ];

    // Of many megabytes all but the last few is gone, with what the collection owns. Where stops are dear that takes more of them, and time.
    private static void Goes(Func<object> make)
    {
        Heap.Delete(make());
        long allocated = GC.GetAllocatedBytesForCurrentThread(), deleted = Heap.GetStatistics().DeletedBytes, outgrown = Heap.GetStatistics().OutgrownBytes;
        long reclaimed = Heap.GetStatistics().ReclaimedBytes;
        const long Enough = 64L << 20, Noted = 4L << 20;
        while (GC.GetAllocatedBytesForCurrentThread() - allocated < Enough)
            Heap.Delete(make());
        for (int again = 0; !IsGone(out _) && again < 2000; again++)
        {
            Thread.Sleep(5);
            Heap.Delete(make());
        }
        if (!IsGone(out string figures))
            throw new ContractException(figures);

        bool IsGone(out string figures)
        {
            long made = GC.GetAllocatedBytesForCurrentThread() - allocated, gone = Heap.GetStatistics().DeletedBytes - deleted, arrays = Heap.GetStatistics().OutgrownBytes - outgrown;
            figures = $"{gone} of {made} bytes are gone, {arrays} outgrown";
            return gone >= (0.95 * made) - Noted && (arrays != 0 || Heap.GetStatistics().ReclaimedBytes != reclaimed);
        }
    }

    private static IEnumerable<(string Name, Func<object> Make)> Makers()
    {
        yield return ("list", () => Grown(new List<long>(), (list, i) => list.Add(i)));
        yield return ("list-of-references", () => Grown(new List<object>(), (list, i) => list.Add(s_object)));
        yield return ("list-insertion", () => Grown(new List<long>(), (list, i) => list.Insert(list.Count - Math.Min(i, 3), i)));
        yield return ("dictionary", () => Grown(new Dictionary<int, long>(), (dictionary, i) => dictionary.Add(i, i)));
        yield return ("hash-set", () => Grown(new HashSet<int>(), (set, i) => set.Add(i)));
        yield return ("queue", () => Grown(new Queue<int>(), (queue, i) => queue.Enqueue(i)));
        yield return ("stack", () => Grown(new Stack<int>(), (stack, i) => stack.Push(i)));
        yield return ("priority-queue", () => Grown(new PriorityQueue<int, int>(), (queue, i) => queue.Enqueue(i, i)));
        yield return ("sorted-list", () => Grown(new SortedList<int, int>(), (list, i) => list.Add(i, i)));
        yield return ("ordered-dictionary", () => Grown(new OrderedDictionary<int, int>(), (dictionary, i) => dictionary.Add(i, i)));
        yield return ("array-list", () => Grown(new ArrayList(), (list, i) => list.Add(s_object)));
        yield return ("hashtable", () => Grown(new Hashtable(), (table, i) => table[Objects[i]] = s_object));
        yield return ("stack-of-objects", () => Grown(new Stack(), (stack, i) => stack.Push(s_object)));
        yield return ("bit-array", () => Grown(new BitArray(1), (bits, i) => bits.Length += i % 50 == 0 ? 3200 : 0));
        yield return ("channel", () => Grown(Channel.CreateBounded<int>(2 * Many), (channel, i) => channel.Writer.TryWrite(i)));
    }

    private static object[] Objects { get; } = [.. Enumerable.Range(0, Many).Select(_ => new object())];

    private static T Grown<T>(T collection, Action<T, int> add)
    {
        for (int i = 0; i < Many; i++)
            add(collection, i);
        return collection;
    }

    // Too few for a stop; notes keep nothing alive, so a collection deletes them.
    private static void Collected()
    {
        GC.Collect();
        long deleted = Heap.GetStatistics().DeletedBytes;
        List<long> list = Grown(4096);
        GC.Collect();
        deleted = Heap.GetStatistics().DeletedBytes - deleted;
        if (deleted < 30 << 10)
            throw new ContractException($"{deleted} bytes are gone");
        Expect.Equal(4096, list.Count);

        [MethodImpl(MethodImplOptions.NoInlining)]
        static List<long> Grown(int count)
        {
            var list = new List<long>();
            for (int i = 0; i < count; i++)
                list.Add(i);
            return list;
        }
    }

    // More than is noted before a search, in the arrays of other collections. A reclaim deletes what is noted, too.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Outgrow()
    {
        long before = Searches();
        for (int i = 0; i < 2000 && Searches() < before + 3; i++)
        {
            Heap.Delete(Grown(new List<long>(), (list, value) => list.Add(value)));
            if (i >= 50)
                Thread.Sleep(5);  // where stops are dear
        }
        if (Searches() < before + 3)
            throw new ContractException("no three stops in some gigabytes");
    }

    private static long Searches() => Heap.GetStatistics().OutgrownStops + Heap.GetStatistics().Reclaims;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static List<long> Full(int count)
    {
        var list = new List<long>(count);
        for (int i = 0; i < count; i++)
            list.Add(i * 7L);
        return list;
    }

    private static void SpanStays()
    {
        List<long> list = Full(1000);
        Span<long> span = CollectionsMarshal.AsSpan(list), part = span[990..];
        list.Add(0);
        Outgrow();
        for (int i = 0; i < part.Length; i++)
            Expect.Equal((990 + i) * 7L, part[i]);
        Span<long> end = span[1000..];
        Outgrow();
        Expect.Equal(0, end.Length);
        span[3] = 1;
        Expect.Equal(21L, list[3]);
        GC.KeepAlive(list);
    }

    private static void ReferenceStays()
    {
        var dictionary = new Dictionary<int, long>(100) { [5] = 35 };
        ref long value = ref CollectionsMarshal.GetValueRefOrNullRef(dictionary, 5);
        for (int i = 1000; i < 3000; i++)
            dictionary.Add(i, i);
        Outgrow();
        Expect.Equal(35L, value);
        value = 36;
        Expect.Equal(35L, dictionary[5]);
    }

    private static unsafe void PointerStays()
    {
        List<long> list = Full(1000);
        fixed (long* numbers = CollectionsMarshal.AsSpan(list))
        {
            list.Add(0);
            Outgrow();
            for (int i = 0; i < 1000; i++)
                Expect.Equal(i * 7L, numbers[i]);
        }
    }

    private static Memory<long> s_memory;
    private static IEnumerator? s_enumerator;

    // Later versions give the array of a builder out as a memory, which a static can have.
    private static void MemoryStays()
    {
        ImmutableArray<long>.Builder builder = ImmutableArray.CreateBuilder<long>();
        builder.Count = 100_000;
        builder[5] = 35;
#if NET10_0_OR_GREATER
        s_memory = ImmutableCollectionsMarshal.AsMemory(builder);
#else
        s_memory = builder.ToArray();
#endif
        builder.Add(1);
        Outgrow();
        Expect.Equal(35L, s_memory.Span[5]);
        s_memory = default;
    }

    // The enumerator of the older queue gives its array out before the first element, when the queue has another one.
    private static void CurrentOfEnumeratorStays()
    {
        var queue = new Queue(10_000);
        for (int i = 0; i < 10_000; i++)
            queue.Enqueue(s_object);
        s_enumerator = queue.GetEnumerator();
        queue.Enqueue(s_object);
        Outgrow();
        Expect.Equal(10_000, ((object[])s_enumerator.Current!).Length);
        s_enumerator = null;
    }

    // A race that .NET allows: what is read is one or the other array, and both have the number.
    private static void ReadersOfList()
    {
        List<long> list = Full(16);
        bool ends = false;
        Exception? seen = null;
        Thread[] readers = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            try
            {
                while (!Volatile.Read(ref ends))
                {
                    List<long> current = Volatile.Read(ref list);
                    for (int i = 0; i < 16; i++)
                        Expect.Equal(i * 7L, current[i]);
                }
            }
            catch (Exception exception)
            {
                seen = exception;
            }
        }))];
        foreach (Thread reader in readers)
            reader.Start();
        for (int round = 0; round < 200 && seen is null; round++)
        {
            List<long> current = list;
            for (int i = 0; i < 20_000; i++)
                current.Add(i);
            Volatile.Write(ref list, Full(16));
        }
        Volatile.Write(ref ends, true);
        foreach (Thread reader in readers)
            reader.Join();
        if (seen is not null)
            throw new ContractException(seen.ToString());
    }

    // One writer and readers without a lock, as Hashtable is documented.
    private static void ReadersOfHashtable()
    {
        string[] keys = [.. Enumerable.Range(0, 20_000).Select(i => "key" + i)];
        var shared = new Published();
        bool ends = false;
        Exception? seen = null;
        Thread[] readers = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            try
            {
                while (!Volatile.Read(ref ends))
                {
                    Published current = Volatile.Read(ref shared);
                    int count = Volatile.Read(ref current.Count);
                    for (int i = 0; i < count; i += 1 + (count / 50))
                        Expect.Equal(keys[i], (string?)current.Table[keys[i]]);
                }
            }
            catch (Exception exception)
            {
                seen = exception;
            }
        }))];
        foreach (Thread reader in readers)
            reader.Start();
        for (int round = 0; round < 20 && seen is null; round++)
        {
            var current = new Published();
            Volatile.Write(ref shared, current);
            for (int i = 0; i < keys.Length; i++)
            {
                current.Table[keys[i]] = keys[i];
                Volatile.Write(ref current.Count, i + 1);
            }
        }
        Volatile.Write(ref ends, true);
        foreach (Thread reader in readers)
            reader.Join();
        if (seen is not null)
            throw new ContractException(seen.ToString());
    }

    private sealed class Published
    {
        internal readonly Hashtable Table = [];
        internal int Count;
    }

    // Each its own, of which some wait while others search.
    private static void Threads()
    {
        Exception? seen = null;
        Thread[] threads = [.. Enumerable.Range(0, 24).Select(number => new Thread(() =>
        {
            try
            {
                for (int round = 0; round < 20; round++)
                {
                    var list = new List<int>();
                    var set = new HashSet<int>();
                    for (int i = 0; i < 3000; i++)
                    {
                        list.Add(i * number);
                        set.Add(i);
                    }
                    for (int i = 0; i < 3000; i++)
                    {
                        Expect.Equal(i * number, list[i]);
                        Expect.True(set.Contains(i));
                    }
                    Heap.Delete(list);
                    Heap.Delete(set);
                }
            }
            catch (Exception exception)
            {
                seen = exception;
            }
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        if (seen is not null)
            throw new ContractException(seen.ToString());
    }

    private static void Shrinks()
    {
        for (int round = 0; round < 40; round++)
        {
            var list = Grown(new List<long>(), (list, i) => list.Add(i));
            list.RemoveRange(100, Many - 100);
            list.TrimExcess();
            var dictionary = Grown(new Dictionary<int, int>(), (dictionary, i) => dictionary.Add(i, i));
            for (int i = 100; i < Many; i++)
                dictionary.Remove(i);
            dictionary.TrimExcess();
            var stack = Grown(new Stack<int>(), (stack, i) => stack.Push(i));
            while (stack.Count > 100)
                stack.Pop();
            stack.TrimExcess();
            list.Capacity = 100;
            list.Clear();
            list.Capacity = 0;
            list.Add(1);
            for (int i = 0; i < 100; i++)
                Expect.Equal(i, dictionary[i]);
            Expect.Equal(99, stack.Peek());
            Expect.Equal(1L, list[0]);
            foreach (object collection in new object[] { list, dictionary, stack })
                Heap.Delete(collection);
        }
    }

    // Below the size that is noted, and empty ones, which all share.
    private static void Small()
    {
        for (int round = 0; round < 20_000; round++)
        {
            var list = new List<byte>();
            for (int i = 0; i < 200; i++)
                list.Add((byte)i);
            Expect.Equal(199, list[199]);
            Heap.Delete(list);
        }
        Expect.Equal(0, new List<byte>().Capacity);
        Expect.Equal(0, Array.Empty<byte>().Length);
    }
}
