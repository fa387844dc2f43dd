using System.Collections.Concurrent;
using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Programs that do not delete: what they forget goes before an allocation fails, or whenever the heap has grown.</summary>
internal static class Reclaiming
{
    // Of what is made in all, by each program: sixteen times the limit of 64 MB.
    private const long Made = 1L << 30;

    public static IEnumerable<Case> All()
    {
        yield return new("reclaim-shapes", _ => Shapes());
        yield return new("reclaim-threads", _ => Threads());
        yield return new("reclaim-finalizers", _ => Finalizers());
        yield return new("reclaim-limit", _ => Limit());
        yield return new("reclaim-off", _ => Off());
        yield return new("reclaim-loops", _ => Loops());
        yield return new("reclaim-nothing-to-do", _ => NothingToDo());
        yield return new("reclaim-growth", arguments => Growth(long.Parse(arguments[0])));
    }

    private sealed class Holder
    {
        public static int Finalized;
        public readonly byte[] Held = new byte[50_000];
        public readonly string? Text = Guid.NewGuid().ToString();

        ~Holder()
        {
            Expect.Equal(36, Text?.Length ?? 36);  // none if the constructor ran out of memory
            // Finalizers allocate, too, while there is no memory.
            Expect.Equal(20_000, new byte[20_000].Length);
            Finalized++;
        }
    }

    // Two in a hundred are kept, and are what they were in the end; the others are forgotten.
    private static void Forget(int seed, long bytes)
    {
        var random = new Random(seed);
        var kept = new Dictionary<int, object>();
        for (int i = 0; bytes > 0; i++)
        {
            (object made, int size) = Make(random.Next(100), i);
            bytes -= size;
            if (i % 50 == 0)
                kept[i / 50 % 500 * 50] = made;
        }
        foreach ((_, object value) in kept)
            Check(value);
    }

    private static (object Made, int Size) Make(int kind, int number)
    {
        switch (kind)
        {
            case 0:
                int[] large = new int[20_000];
                large[0] = large[^1] = number;
                return (large, 80_024);
            case < 10:
                return (Enumerable.Range(number, 20).ToDictionary(i => i, i => i.ToString()), 2_500);
            case < 30:
                return (new List<object> { number, number.ToString(), new object() }, 200);
            default:
                return ("text " + number, 40);
        }
    }

    private static void Check(object made)
    {
        switch (made)
        {
            case int[] large:
                Expect.Equal(large[0], large[^1]);
                break;
            case Dictionary<int, string> table:
                foreach ((int key, string value) in table)
                    Expect.Equal(key, int.Parse(value));
                break;
            case List<object> list:
                Expect.Equal(list[0].ToString(), (string)list[1]);
                break;
            case string text:
                Expect.True(text.StartsWith("text ", StringComparison.Ordinal));
                break;
        }
    }

    private static void Shapes()
    {
        Forget(1, Made);
        HeapStatistics statistics = Heap.GetStatistics();
        Expect.True(statistics.ReclaimedBytes > Made / 2, $"{statistics.ReclaimedBytes} reclaimed");
        Expect.True(statistics.ReclaimedObjects > 1_000_000, $"{statistics.ReclaimedObjects} objects");
        Expect.True(statistics.LongestReclaimStop > TimeSpan.Zero);
        Heap.Verify();
    }

    private static void Threads()
    {
        var failures = new ConcurrentQueue<Exception>();
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(number => new Thread(() =>
        {
            try
            {
                Forget(number, Made / 4);
            }
            catch (Exception exception)
            {
                failures.Enqueue(exception);
            }
        }))];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        Expect.True(failures.IsEmpty, failures.FirstOrDefault()?.ToString() ?? "");
        Heap.Verify();
    }

    // Only what waits for finalizers is large.
    private static void Finalizers()
    {
        const int Count = 10_000;
        for (int i = 0; i < Count; i++)
            _ = new Holder();
        Expect.True(Holder.Finalized > Count / 2, $"{Holder.Finalized} finalized");
    }

    // What is reached stays: an OutOfMemoryException. What the program lets go then is there for the next allocation.
    private static void Limit()
    {
        const int Tries = 60;
        for (int round = 0; round < 3; round++)
        {
            List<object> items = Fill();
            long start = Stopwatch.GetTimestamp();
            int failures = 0;
            for (int i = 0; i < Tries; i++)
            {
                try
                {
                    items.Add(new byte[300_000]);
                }
                catch (OutOfMemoryException)
                {
                    failures++;
                }
            }
            // The case itself needs some memory.
            int half = items.Count / 2;
            for (int i = half; i < items.Count; i++)
                Heap.Delete(items[i]);
            items.RemoveRange(half, items.Count - half);
            // Some have room: 4 MB beyond the limit are for arrays after a failure, and what moves leaves memory.
            Expect.True(failures > Tries / 4, $"{failures} of {Tries} failed");
            Console.WriteLine($"{Stopwatch.GetElapsedTime(start).TotalMilliseconds / failures:F1} ms a failure");
            for (int i = 0; i < items.Count; i++)
            {
                if (items[i] is string text)
                    Expect.Equal(i, int.Parse(text));
            }
        }
        Expect.True(Heap.GetStatistics().ReclaimedBytes > 60_000_000, $"{Heap.GetStatistics().ReclaimedBytes} reclaimed");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static List<object> Fill()
    {
        var items = new List<object>(4_000_000);
        try
        {
            for (int i = 0; ; i++)
                items.Add(i.ToString());
        }
        catch (OutOfMemoryException)
        {
        }
        return items;
    }

    private static void Off()
    {
        Expect.Throws<OutOfMemoryException>(() => Forget(1, Made));
        Expect.Equal(0L, Heap.GetStatistics().ReclaimedBytes);
    }

    // Without a limit near by.
    private static void Growth(long most)
    {
        long resident = 0;
        for (int i = 0; i < 20; i++)
        {
            Forget(i, Made / 20);
            resident = Math.Max(resident, Heap.GetStatistics().ResidentBytes);
        }
        Expect.True(resident < most, $"{resident} resident");
        Expect.True(Heap.GetStatistics().ReclaimedBytes > Made / 2, $"{Heap.GetStatistics().ReclaimedBytes} reclaimed");
    }

    // Nothing is looked for where all is deleted, in any order, by any thread.
    private static void NothingToDo()
    {
        for (long bytes = 0; bytes < Made; bytes += 50_000)
            Heap.Delete(new byte[50_000]);
        var queue = new Queue<object>(5_002);
        for (int i = 0; i < 1_000_000; i++)
        {
            queue.Enqueue(i % 100 == 0 ? new byte[2_000] : new string('t', i % 60 + 1));
            if (queue.Count > 5_000)
                Heap.Delete(queue.Dequeue());
        }
        for (int round = 0; round < 20; round++)
        {
            object[] made = new object[10_000];
            for (int i = 0; i < made.Length; i++)
                made[i] = new Reference(i);
            var thread = new Thread(() =>
            {
                foreach (object item in made)
                    Heap.Delete(item);
            });
            thread.Start();
            thread.Join();
            Heap.Delete(made);
        }
        HeapStatistics statistics = Heap.GetStatistics();
        Expect.Equal(0L, statistics.Reclaims);
        Expect.Equal(TimeSpan.Zero, statistics.LongestReclaimStop);
    }

    private sealed class Reference(int number)
    {
        public int Number { get; } = number;
    }

    private sealed class Sentinel
    {
        public static int Runs;

        ~Sentinel()
        {
            Runs++;
            GC.ReRegisterForFinalize(this);
        }
    }

    // Programs that allocate until the collector has done something.
    private static void Loops()
    {
        WeakReference? weak = null;
        var thread = new Thread(() =>
        {
            weak = new WeakReference(new object());
            GC.KeepAlive(new Sentinel());
        });
        thread.Start();
        thread.Join();
        object? last = null;
        while (weak!.IsAlive)
            last = new byte[1_000];
        while (Volatile.Read(ref Sentinel.Runs) < 3)
            last = new byte[1_000];
        int before = GC.CollectionCount(GC.MaxGeneration);
        while (GC.CollectionCount(GC.MaxGeneration) == before)
            last = new byte[1_000];
        GC.RegisterForFullGCNotification(50, 50);
        while (GC.WaitForFullGCApproach(0) == GCNotificationStatus.Timeout)
            last = new byte[1_000];
        while (GC.WaitForFullGCComplete(0) == GCNotificationStatus.Timeout)
            last = new byte[1_000];
        GC.CancelFullGCNotification();
        GC.KeepAlive(last);
    }
}
