using System.Buffers.Text;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Points 9 and 11: memory is given back, kernel mappings are few, and exhaustion is an exception.</summary>
internal static partial class Memory
{
    public static IEnumerable<Case> All()
    {
        foreach ((string order, int kind) in new[] { ("fifo", 0), ("lifo", 1), ("random", 2) })
        {
            yield return new("resident-" + order, _ => Resident(kind, live: 0));
            yield return new("resident-live-" + order, _ => Resident(kind, live: 64 << 20));
        }
        yield return new("resident-large", _ => ResidentOfLarge());
        yield return new("resident-threads", _ => ResidentOfThreads());
        yield return new("resident-churn", _ => ResidentOfChurn());
        yield return new("resident-long", _ => ResidentOfLong());
        yield return new("mappings", arguments => Mappings(arguments is [string megabytes] ? int.Parse(megabytes) : 768));
        yield return new("mappings-large", _ => MappingsOfLarge());
        yield return new("out-of-memory-small", arguments => OutOfMemory(long.Parse(arguments[0]), 1_000));
        yield return new("out-of-memory-large", arguments => OutOfMemory(long.Parse(arguments[0]), 1_000_000));
        yield return new("out-of-memory-text", arguments => TextOfOutOfMemory(long.Parse(arguments[0])));
        yield return new("out-of-memory-often", arguments => OutOfMemoryOften(long.Parse(arguments[0])));
        yield return new("out-of-memory-refreshed", arguments => Refreshed(long.Parse(arguments[0])));
        yield return new("out-of-memory-figures", arguments => FiguresOfMemory(long.Parse(arguments[0])));
        yield return new("resident-growing-heap", _ => GrowingHeap());
        yield return new("out-of-memory-dangling", arguments => UsesWithoutMemory(long.Parse(arguments[0])));
        yield return new("out-of-memory-threads", arguments => OutOfMemoryOfThreads(long.Parse(arguments[0])));
    }

    // What the program asks for while it runs, unless FREEHOLD_HEAP_LIMIT has said how much it is.
    private static void Refreshed(long limit)
    {
        const long Asked = 200 << 20;
        byte[] held = new byte[30_000_000];
        AppContext.SetData("GCHeapHardLimit", (ulong)Asked);
        GC.RefreshMemoryLimit();
        Expect.Equal(limit, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes);
        byte[] fits = new byte[limit - 60_000_000];
        Expect.Throws<OutOfMemoryException>(() => GC.KeepAlive(new byte[60_000_000]));
        GC.KeepAlive(fits);
        // Below what is in use: refused, and nothing changes.
        AppContext.SetData("GCHeapHardLimit", (ulong)10_000_000);
        if (limit == Asked)
            Expect.Throws<InvalidOperationException>(GC.RefreshMemoryLimit);
        else
            GC.RefreshMemoryLimit();
        Expect.Equal(limit, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes);
        GC.KeepAlive(held);
    }

    // In a control group of which `limit` bytes are three quarters, and in which little else is.
    private static void FiguresOfMemory(long limit)
    {
        const int Held = 100 << 20;
        GCMemoryInfo before = GC.GetGCMemoryInfo();
        Expect.Equal(limit, before.TotalAvailableMemoryBytes);
        Expect.True(before.HighMemoryLoadThresholdBytes > limit && before.HighMemoryLoadThresholdBytes < limit / 3 * 4, $"{before.HighMemoryLoadThresholdBytes} is high");
        byte[] held = new byte[Held];
        held.AsSpan().Fill(1);
        GC.Collect();
        long grown = GC.GetGCMemoryInfo().MemoryLoadBytes - before.MemoryLoadBytes;
        Expect.True(grown > Held / 10 * 8 && grown < Held / 10 * 12, $"{grown} more in use");
        Heap.Delete(held);
    }

    [LibraryImport("libc")]
    private static partial int open(ReadOnlySpan<byte> path, int flags);

    [LibraryImport("libc")]
    private static partial nint read(int file, Span<byte> buffer, nuint count);

    [LibraryImport("libc")]
    private static partial int close(int file);

    // Without an allocation: what nobody deletes would hold the block that it is in.
    private static long ResidentBytes()
    {
        Span<byte> text = stackalloc byte[128];
        int file = open("/proc/self/statm\0"u8, 0);
        int length = (int)read(file, text, 128);
        close(file);
        ReadOnlySpan<byte> rest = text[(text.IndexOf((byte)' ') + 1)..length];
        return Utf8Parser.TryParse(rest, out long pages, out _) ? pages * 4_096 : throw new ContractException("statm is not readable");
    }

    private static int MappingCount() => File.ReadLines("/proc/self/maps").Count();

    // Within 10%, or one block of 2 MB and one megabyte: a program of a few megabytes holds the block that it allocates from, and the heap's tables (2.4 MB were seen, of 200 that were deleted).
    private static void Expectation(long before, long after)
    {
        Console.WriteLine($"resident before {before / 1024} KB, after {after / 1024} KB");
        Expect.True(after <= before + Math.Max(before / 10, 3 << 20), $"resident memory went from {before / 1024} to {after / 1024} KB");
    }

    private static object[] Build(int megabytes, int seed)
    {
        // Twice the same numbers: first to count. A list would leave its outgrown arrays behind.
        object[] items = [];
        for (int pass = 0; pass < 2; pass++)
        {
            var random = new Lcg(seed);
            int count = 0;
            for (long size = 0; size < (long)megabytes << 20; count++)
            {
                int length = random.Next(random.Next(20) == 0 ? 20_000 : 300) + 1;
                if (pass == 1)
                    items[count] = length % 3 == 0 ? new string('s', length) : new byte[length];
                size += length;
            }
            if (pass == 0)
                items = new object[count];
        }
        return items;
    }

    private struct Lcg(int seed)
    {
        private ulong _state = (ulong)seed;

        public int Next(int limit)
        {
            _state = _state * 6364136223846793005 + 1442695040888963407;
            return (int)((_state >> 33) % (ulong)limit);
        }
    }

    private static void DeleteAll(object[] items, int order)
    {
        if (order == 1)
            Array.Reverse(items);
        else if (order == 2)
            Shuffle(items);
        foreach (object item in items)
            Heap.Delete(item);
        Heap.Delete(items);
    }

    private static void Shuffle(object[] items)
    {
        var random = new Lcg(1);
        for (int i = items.Length - 1; i > 0; i--)
        {
            int j = random.Next(i + 1);
            (items[i], items[j]) = (items[j], items[i]);
        }
    }

    private static void Resident(int order, int live)
    {
        object[] held = Build(live >> 20, 3);
        // Once before, so that code, tables and the file API are there when it counts.
        DeleteAll(Build(20, 1), order);
        GC.Collect();
        ResidentBytes();
        long before = ResidentBytes();
        for (int round = 0; round < 3; round++)
        {
            object[] items = Build(200, round);
            Expect.True(ResidentBytes() > before + (150 << 20));
            DeleteAll(items, order);
        }
        GC.Collect();
        Expectation(before, ResidentBytes());
        Expect.True(held.Length >= 0);
    }

    // Memory that was made ready in vain is not there for long.
    private static void GrowingHeap()
    {
        object[] items = Build(400, 5);
        Expect.Eventually(() =>
        {
            HeapStatistics now = Heap.GetStatistics();
            long live = now.AllocatedBytes - now.DeletedBytes;
            // Ends of blocks and pages that are partly dead are 3% of it, what is made ready 6% more.
            return live > 300 << 20 && now.ResidentBytes < live + live / 20;
        });
        DeleteAll(items, 0);
    }

    private static void ResidentOfLarge()
    {
        Heap.Delete(new byte[1_000_000]);
        GC.Collect();
        ResidentBytes();
        long before = ResidentBytes();
        for (int round = 0; round < 5; round++)
        {
            byte[][] arrays = new byte[300][];
            for (int i = 0; i < arrays.Length; i++)
            {
                arrays[i] = new byte[i % 10 * 200_000 + 40_000];
                arrays[i].AsSpan().Fill(1);
            }
            foreach (byte[] array in arrays)
                Heap.Delete(array);
            Heap.Delete(arrays);
        }
        GC.Collect();
        Expectation(before, ResidentBytes());
    }

    // Threads come and go: what they had reserved goes back too.
    private static void ResidentOfThreads()
    {
        void Round()
        {
            Thread[] threads = [.. Enumerable.Range(0, 32).Select(id => new Thread(() =>
            {
                object[] items = Build(5, id);
                DeleteAll(items, 2);
            }, 256 * 1024))];
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
        }

        Round();
        GC.Collect();
        ResidentBytes();
        long before = ResidentBytes();
        for (int i = 0; i < 5; i++)
            Round();
        GC.Collect();
        Expectation(before, ResidentBytes());
    }

    // A constant number of live objects, replaced first in, first out: memory is constant.
    private static void ResidentOfChurn()
    {
        var queue = new Queue<byte[]>(100_002);
        long before = 0, most = 0;
        for (int i = 0; i < 6_000_000; i++)
        {
            queue.Enqueue(new byte[40]);
            if (queue.Count > 100_000)
                Heap.Delete(queue.Dequeue());
            if (i == 1_000_000)
                before = ResidentBytes();
            if (i > 1_000_000 && i % 200_000 == 0)
                most = Math.Max(most, ResidentBytes());
        }
        Console.WriteLine($"resident after a million {before / 1024} KB, at most {most / 1024} KB");
        Expect.True(most <= before + before / 10 + (4 << 20), $"resident memory grew from {before / 1024} to {most / 1024} KB under constant live size");
    }

    // Thirty gigabytes through a few megabytes: addresses are fresh, but what is known of dead ones must not pile up.
    private static void ResidentOfLong()
    {
        long before = 0;
        for (int i = 0; i < 1_000_000; i++)
        {
            byte[] item = new byte[30_000];
            Heap.Delete(item);
            if (i == 50_000)
            {
                GC.Collect();
                before = ResidentBytes();
            }
        }
        GC.Collect();
        Expectation(before, ResidentBytes());
    }

    private static void Mappings(int megabytes)
    {
        var random = new Random(7);
        object?[] items = Build(megabytes, 2)!;
        int most = MappingCount();
        int[] order = new int[items.Length];
        for (int i = 0; i < order.Length; i++)
            order[i] = i;
        random.Shuffle(order);
        for (int i = 0; i < order.Length; i++)
        {
            Heap.Delete(items[order[i]]);
            items[order[i]] = null;
            if (i % (order.Length / 40) == 0)
                most = Math.Max(most, MappingCount());
        }
        most = Math.Max(most, MappingCount());
        GC.Collect();
        Console.WriteLine($"mappings at most {most}, at the end {MappingCount()}");
        Expect.True(most < 20_000);
    }

    private static void MappingsOfLarge()
    {
        var random = new Random(8);
        var live = new List<byte[]>();
        int most = 0;
        for (int i = 0; i < 60_000; i++)
        {
            live.Add(new byte[33_000]);
            if (live.Count > 3_000)
            {
                int index = random.Next(live.Count);
                Heap.Delete(live[index]);
                live[index] = live[^1];
                live.RemoveAt(live.Count - 1);
            }
            if (i % 2_000 == 0)
                most = Math.Max(most, MappingCount());
        }
        Console.WriteLine($"mappings at most {most}");
        Expect.True(most < 20_000);
    }

    // Run with a limit of `limit` bytes: the exception comes near the limit, and after deleting the program goes on.
    // The first text of a stack trace needs an array of hundreds of kilobytes: a handler has room for it, and for the next one.
    private static void TextOfOutOfMemory(long limit)
    {
        for (int round = 0; round < 20; round++)
        {
            var items = new List<byte[]>(1 << 20);
            try
            {
                while (items.Count * 1_000L < limit * 3)
                    items.Add(new byte[1_000]);
                throw new ContractException("no limit");
            }
            catch (OutOfMemoryException exception)
            {
                string text = exception.ToString();
                Expect.True(text.Contains(nameof(TextOfOutOfMemory)), text);
            }
            items.ForEach(Heap.Delete);
            Heap.Delete(items);
        }
    }

    private static void OutOfMemory(long limit, int size)
    {
        for (int round = 0; round < 3; round++)
        {
            var items = new List<byte[]>();
            long allocated = 0;
            try
            {
                while (allocated < limit * 3)
                {
                    byte[] item = new byte[size];
                    item[^1] = 1;
                    items.Add(item);
                    allocated += size;
                }
                throw new ContractException($"allocated {allocated} bytes with a limit of {limit}");
            }
            catch (OutOfMemoryException)
            {
            }
            Expect.True(allocated > limit / 2, $"out of memory at {allocated} of {limit} bytes");
            Expect.True(allocated <= limit, $"out of memory only at {allocated} of {limit} bytes");
            foreach (byte[] item in items)
                Heap.Delete(item);
            Heap.Delete(items);
        }
        Expect.Throws<OutOfMemoryException>(() => GC.KeepAlive(new byte[limit + 1]));
        Expect.Equal(20_000, Enumerable.Range(0, 20_000).Select(i => "text " + i).Distinct().Count());
    }

    // The exception that a use of a deleted object throws takes memory as well: without any, an OutOfMemoryException is thrown at that place.
    private static void UsesWithoutMemory(long limit)
    {
        byte[] gone = new byte[2_000_000];
        Heap.Delete(gone);
        var items = new object[limit / 16];
        int count = 0, dangling = 0, exhausted = 0;
        while (exhausted < 50)
        {
            try
            {
                for (; ; count++)
                    items[count] = new byte[24];
            }
            catch (OutOfMemoryException)
            {
            }
            try
            {
                Expect.Equal(0, gone.Length);
            }
            catch (DanglingReferenceException exception)
            {
                items[count++] = exception;  // as if the program kept it
                dangling++;
            }
            catch (OutOfMemoryException)
            {
                exhausted++;
            }
        }
        Expect.True(dangling > 0);
        for (int i = 0; i < count; i++)
            Heap.Delete(items[i]);
        Expect.Throws<DanglingReferenceException>(() => gone.Length.ToString());
    }

    // A program that keeps what it gets, catches, and asks again uses up what the heap keeps for throwing.
    private static void OutOfMemoryOften(long limit)
    {
        var items = new object[limit / 16];
        int count = 0;
        for (int thrown = 0; thrown < 1_000;)
        {
            try
            {
                for (; ; count++)
                    items[count] = new byte[thrown * 2 % 2_000];
            }
            catch (OutOfMemoryException)
            {
                thrown++;
            }
        }
        for (int i = 0; i < count; i++)
            Heap.Delete(items[i]);
        for (int i = 0; i < 1_000; i++)
            Heap.Delete(new byte[10_000]);
    }

    private static void OutOfMemoryOfThreads(long limit)
    {
        int exhausted = 0, started = 0;
        Thread[] threads = [.. Enumerable.Range(0, 8).Select(id => new List<byte[]>(100_000)).Select((items, id) => new Thread(() =>
        {
            // What a thread needs for itself must be there before the others take all that there is.
            Interlocked.Increment(ref started);
            SpinWait.SpinUntil(() => Volatile.Read(ref started) == 8);
            for (int round = 0; round < 3; round++)
            {
                try
                {
                    while (items.Count < 99_000)
                        items.Add(new byte[limit / 20_000 + id]);
                }
                catch (OutOfMemoryException)
                {
                    Interlocked.Increment(ref exhausted);
                }
                foreach (byte[] item in items)
                    Heap.Delete(item);
                items.Clear();
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Expect.True(exhausted > 0);
        for (int i = 0; i < 1_000; i++)
            Heap.Delete(new byte[10_000]);
    }
}
