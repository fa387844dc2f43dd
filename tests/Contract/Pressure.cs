namespace Freehold.Contract;

/// <summary>Heap.MemoryPressure, with a limit of 64 MB.</summary>
internal static class Pressure
{
    private const long Limit = 64 << 20;
    private const int ItemBytes = 100_000;

    public static IEnumerable<Case> All()
    {
        yield return new("pressure-cache", _ => Cache());
        yield return new("pressure-once", _ => Once());
        yield return new("pressure-handlers", _ => Handlers());
        yield return new("pressure-blocked", _ => Blocked());
        yield return new("pressure-add-and-remove", _ => AddAndRemove());
        yield return new("pressure-never", _ => Never());
    }

    // A cache that forgets nothing until it is told to: sixteen times the limit goes through it.
    private static void Cache()
    {
        var cache = new List<byte[]>();
        int drops = 0, failures = 0;
        Heap.MemoryPressure += (sender, pressure) =>
        {
            Expect.Equal(null, sender);
            Expect.Equal(Limit, pressure.HeapLimit);
            Expect.True(pressure.HeapBytes > 0 && pressure.LiveBytes > 0 && pressure.ProcessLimit >= Limit, "the figures are known");
            Expect.Equal(0, pressure.NativeBytes + pressure.HandleBytes);
            lock (cache)
            {
                foreach (byte[] item in cache)
                    Heap.Delete(item);
                cache.Clear();
            }
            Interlocked.Increment(ref drops);
        };
        for (long made = 0; made < 16 * Limit;)
        {
            try
            {
                byte[] item = new byte[ItemBytes];
                lock (cache)
                    cache.Add(item);
                made += ItemBytes;
            }
            catch (OutOfMemoryException)
            {
                // The handler has had no processor yet.
                failures++;
                if (failures == 5_000)  // the text takes memory, of which there is none
                    throw new ContractException($"{drops} drops");
                Thread.Sleep(10);
            }
        }
        Expect.True(Volatile.Read(ref drops) >= 2, $"{drops} drops, {failures} failures");
    }

    private static List<byte[]> Fill(long bytes)
    {
        var items = new List<byte[]>();
        for (long filled = 0; filled < bytes; filled += ItemBytes)
            items.Add(new byte[ItemBytes]);
        return items;
    }

    private static void Once()
    {
        int raised = 0;
        Heap.MemoryPressure += (_, _) => Interlocked.Increment(ref raised);
        List<byte[]> items = Fill(Limit / 100 * 48);
        Thread.Sleep(100);
        Expect.Equal(0, Volatile.Read(ref raised));
        List<byte[]> more = Fill(Limit / 100 * 37);
        Expect.Eventually(() => Volatile.Read(ref raised) == 1);
        // Above 7/8 and a little below it, again and again: not below 3/4.
        for (int i = 0; i < 40; i++)
        {
            foreach (byte[] item in more.GetRange(0, 50))
                Heap.Delete(item);
            more.RemoveRange(0, 50);
            Thread.Sleep(10);
            more.AddRange(Fill(50 * ItemBytes));
        }
        Expect.Equal(1, Volatile.Read(ref raised));
        foreach (byte[] item in more)
            Heap.Delete(item);
        // The heap finds that this is below 3/4 when it next looks.
        Expect.Eventually(() =>
        {
            List<byte[]> again = Fill(Limit / 100 * 37);
            for (int i = 0; i < 50 && Volatile.Read(ref raised) < 2; i++)
                Thread.Sleep(10);
            bool told = Volatile.Read(ref raised) >= 2;
            foreach (byte[] item in again)
                Heap.Delete(item);
            Thread.Sleep(100);
            return told;
        });
        GC.KeepAlive(items);
    }

    private static void Handlers()
    {
        int called = 0;
        Heap.MemoryPressure += (_, _) => throw new InvalidOperationException("a handler of a test");
        Heap.MemoryPressure += (_, _) => Allocate(ref called);
        Heap.MemoryPressure += (_, _) => throw new OutOfMemoryException("a handler of a test");
        Heap.MemoryPressure += (_, _) => Interlocked.Increment(ref called);
        List<byte[]> items = Fill(Limit / 100 * 85);
        Expect.Eventually(() => Volatile.Read(ref called) >= 2);
        GC.KeepAlive(items);

        static void Allocate(ref int called)
        {
            for (int i = 0; i < 1000; i++)
                Heap.Delete(new byte[1000]);
            Interlocked.Increment(ref called);
        }
    }

    private sealed class Finalizable
    {
        public static int Finalized;

        ~Finalizable() => Interlocked.Increment(ref Finalized);
    }

    // The heap, its finalizers and other threads go on while a handler does not return.
    private static void Blocked()
    {
        using var entered = new ManualResetEventSlim();
        using var goesOn = new ManualResetEventSlim();
        Heap.MemoryPressure += (_, _) =>
        {
            entered.Set();
            goesOn.Wait();
        };
        List<byte[]> items = Fill(Limit / 100 * 85);
        entered.Wait();
        foreach (byte[] item in items)
            Heap.Delete(item);
        for (int i = 0; i < 20_000; i++)
        {
            Heap.Delete(new byte[10_000]);
            if (i % 200 == 0)
                _ = new Finalizable();
        }
        Expect.Eventually(() =>
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
            return Volatile.Read(ref Finalizable.Finalized) > 50;
        });
        goesOn.Set();
    }

    private static void AddAndRemove()
    {
        int called = 0, removed = 0;
        Heap.MemoryPressure += null;
        Heap.MemoryPressure -= (_, _) => { };
        var threads = Enumerable.Range(0, 4).Select(_ => new Thread(() =>
        {
            EventHandler<MemoryPressureEventArgs> stays = (_, _) => Interlocked.Increment(ref called), goes = (_, _) => Interlocked.Increment(ref removed);
            Heap.MemoryPressure += stays;
            for (int i = 0; i < 1000; i++)
            {
                Heap.MemoryPressure += goes;
                Heap.MemoryPressure -= goes;
            }
        })).ToArray();
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        List<byte[]> items = Fill(Limit / 100 * 85);
        Expect.Eventually(() => Volatile.Read(ref called) >= 4);
        Expect.Equal(0, Volatile.Read(ref removed));
        GC.KeepAlive(items);
    }

    // What is garbage is not pressure: it goes first.
    private static void Never()
    {
        int raised = 0;
        Heap.MemoryPressure += (_, _) => Interlocked.Increment(ref raised);
        List<byte[]> items = Fill(Limit / 4);
        for (int i = 0; i < 16 * Limit / ItemBytes; i++)
        {
            Heap.Delete(new byte[ItemBytes]);
            items[i % items.Count][i % ItemBytes]++;
        }
        Thread.Sleep(100);
        Expect.Equal(0, Volatile.Read(ref raised));
    }
}
