using System.Runtime;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>The answers of System.GC are truthful.</summary>
internal static class Collector
{
    public static IEnumerable<Case> All()
    {
        yield return new("gc-bytes", _ => Bytes());
        yield return new("gc-info", _ => Info());
        yield return new("gc-calls", _ => Calls());
        yield return new("gc-no-gc-region", _ => RegionWithoutCollections());
        yield return new("gc-threads", _ => ByThreads());
        yield return new("gc-waits", _ => Waits());
        yield return new("gc-waits-cancelled", _ => WaitsCancelled());
        yield return new("gc-counts", _ => Counts());
        yield return new("gc-loops", _ => Loops());
        yield return new("gc-loops-allocating", _ => LoopsAllocating());
    }

    // There are full collections all the time.
    private static readonly bool s_searching = Environment.GetEnvironmentVariable("FREEHOLD_STRESS")?.Contains("reclaim", StringComparison.Ordinal) == true;

    private static void Bytes()
    {
        long total = GC.GetTotalAllocatedBytes(precise: true);
        long mine = GC.GetAllocatedBytesForCurrentThread();
        long live = GC.GetTotalMemory(false);
        var items = new byte[20_000][];
        long size = 0;
        for (int i = 0; i < items.Length; i++)
        {
            items[i] = new byte[i % 400];
            size += (i % 400 + 24 + 7) & ~7;
        }
        size += 20_000 * 8 + 24;
        long allocated = GC.GetTotalAllocatedBytes(precise: true) - total;
        Expect.True(allocated >= size && allocated < size + 300_000, $"GetTotalAllocatedBytes grew by {allocated} for {size}");
        long byMe = GC.GetAllocatedBytesForCurrentThread() - mine;
        Expect.True(byMe >= size && byMe < size + 100_000, $"GetAllocatedBytesForCurrentThread grew by {byMe} for {size}");
        long grown = GC.GetTotalMemory(false) - live;
        Expect.True(grown >= size - 100_000 && grown < size + 3_000_000, $"GetTotalMemory grew by {grown} for {size}");
        foreach (byte[] item in items)
            Heap.Delete(item);
        Heap.Delete(items);
        long left = GC.GetTotalMemory(true) - live;
        Expect.True(left < 300_000, $"GetTotalMemory kept {left} after all was deleted");
        Expect.True(GC.GetTotalAllocatedBytes(precise: true) - total >= size);
    }

    private static void Info()
    {
        byte[] held = new byte[50_000_000];
        held.AsSpan().Fill(1);
        GC.Collect();
        GCMemoryInfo info = GC.GetGCMemoryInfo();
        Expect.True(info.TotalAvailableMemoryBytes > 100_000_000);
        Expect.True(info.HeapSizeBytes >= 50_000_000 && info.HeapSizeBytes < 5_000_000_000, $"HeapSizeBytes is {info.HeapSizeBytes}");
        Expect.True(info.TotalCommittedBytes >= 50_000_000, $"TotalCommittedBytes is {info.TotalCommittedBytes}");
        Expect.True(info.MemoryLoadBytes > 0 && info.HighMemoryLoadThresholdBytes > 0);
        // What is fragmented is part of the size.
        Expect.True(info.FragmentedBytes >= 0 && info.FragmentedBytes <= info.HeapSizeBytes - 50_000_000, $"{info.FragmentedBytes} of {info.HeapSizeBytes} are fragmented");
        Expect.True(AppDomain.CurrentDomain.MonitoringSurvivedMemorySize >= 0);
        Expect.True(info.PauseTimePercentage is >= 0 and <= 100);
        // Stops until a hundredth of a percent of the time is full: a percentage that is always 0 does not get there.
        for (int i = 0; i < 10_000 && GC.GetGCMemoryInfo().PauseTimePercentage == 0; i++)
            GC.Collect();
        Expect.True(GC.GetGCMemoryInfo().PauseTimePercentage is > 0 and <= 100, $"of {GC.GetTotalPauseDuration()} in {DateTime.Now - System.Diagnostics.Process.GetCurrentProcess().StartTime}");
        Expect.True(GC.GetTotalPauseDuration() < DateTime.UtcNow - System.Diagnostics.Process.GetCurrentProcess().StartTime.ToUniversalTime());
        Heap.Delete(held);
        Expect.True(!GCSettings.IsServerGC);
        Expect.True(GC.MaxGeneration is >= 0 and < 10);
        Expect.True(GC.GetGeneration(new object()) is >= 0 and < 10);
    }

    private static void Calls()
    {
        for (int i = 0; i < 3; i++)
        {
            GC.Collect();
            GC.Collect(0);
            GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
            GC.Collect(1, GCCollectionMode.Optimized, blocking: false);
            GC.WaitForPendingFinalizers();
        }
        GC.AddMemoryPressure(1_000_000_000);
        GC.RemoveMemoryPressure(1_000_000_000);
        if (GC.TryStartNoGCRegion(1_000_000))
        {
            Heap.Delete(new byte[100_000]);
            GC.EndNoGCRegion();
        }
        GCLatencyMode mode = GCSettings.LatencyMode;
        GCSettings.LatencyMode = GCLatencyMode.LowLatency;
        GCSettings.LatencyMode = mode;
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect();
        Expect.True(GC.GetConfigurationVariables() is not null);
        GC.RefreshMemoryLimit();
        GC.KeepAlive(GC.AllocateArray<byte>(1_000, pinned: true));
        GC.KeepAlive(GC.AllocateUninitializedArray<byte>(100_000, pinned: true));
        Expect.Throws<OverflowException>(() => GC.KeepAlive(Large(-1)));
        Expect.Throws<OutOfMemoryException>(() => GC.KeepAlive(Large(Array.MaxLength + 1L)));
    }

    private static int s_called;

    // The callback comes once, when so much was allocated, and not if the region ends before.
    private static void RegionWithoutCollections()
    {
        const int Total = 40_000_000, Threshold = 10_000_000;
        GCLatencyMode mode = GCSettings.LatencyMode;
        Action call = () => Interlocked.Increment(ref s_called);
        Expect.Throws<InvalidOperationException>(() => GC.RegisterNoGCRegionCallback(Threshold, call));
        Expect.Throws<ArgumentOutOfRangeException>(() => GC.TryStartNoGCRegion(long.MaxValue));
        Expect.True(!GC.TryStartNoGCRegion(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes), "there is less than all");
        for (int round = 1; round <= 3; round++)
        {
            Expect.True(GC.TryStartNoGCRegion(Total));
            Expect.Equal(GCLatencyMode.NoGCRegion, GCSettings.LatencyMode);
            Expect.Throws<InvalidOperationException>(() => GCSettings.LatencyMode = GCLatencyMode.Batch);
            Expect.Throws<InvalidOperationException>(() => GC.TryStartNoGCRegion(Total));
            GC.RegisterNoGCRegionCallback(Threshold, call);
            Expect.Throws<InvalidOperationException>(() => GC.RegisterNoGCRegionCallback(Threshold, call));
            for (int bytes = 0; bytes < 20_000_000; bytes += 50_000)
                Heap.Delete(new byte[50_000]);
            Expect.Eventually(() => Volatile.Read(ref s_called) == round);
            GC.EndNoGCRegion();
            Expect.Equal(mode, GCSettings.LatencyMode);
        }
        Expect.True(GC.TryStartNoGCRegion(Total));
        GC.RegisterNoGCRegionCallback(Total, call);
        GC.EndNoGCRegion();
        Expect.Throws<InvalidOperationException>(GC.EndNoGCRegion);
        GC.WaitForPendingFinalizers();  // the thread that would call it
        Expect.Equal(3, Volatile.Read(ref s_called));
    }

    // Each collection is told of before and after, to threads that wait and that can be stopped meanwhile: their references are seen, and made current.
    private static void Waits()
    {
        Func<int, GCNotificationStatus>[] waits = [GC.WaitForFullGCApproach, GC.WaitForFullGCComplete];
        foreach (Func<int, GCNotificationStatus> wait in waits)
        {
            GC.RegisterForFullGCNotification(10, 10);
            Expect.True(wait(20) == GCNotificationStatus.Timeout || s_searching);
            (GCNotificationStatus Status, string Text) result = default;
            bool ended = false;
            var thread = new Thread(() =>
            {
                string text = new('x', Environment.ProcessorCount);
                result = (wait(Timeout.Infinite), text);
                Volatile.Write(ref ended, true);
            });
            thread.Start();
            while (!Volatile.Read(ref ended))
            {
                byte[] pinned = new byte[2_000_000];
                GCHandle handle = GCHandle.Alloc(pinned, GCHandleType.Pinned);
                handle.Free();
                Heap.Delete(pinned);
                Heap.Compact();
                GC.Collect();
                Heap.Verify();
            }
            thread.Join();
            Expect.Equal(GCNotificationStatus.Succeeded, result.Status);
            Expect.Equal(new string('x', Environment.ProcessorCount), result.Text);
            GC.Collect();
            Expect.Equal(GCNotificationStatus.Succeeded, GC.WaitForFullGCApproach(0));
            // One beside the threads may have begun meanwhile: then that is the one whose end is waited for.
            Expect.Equal(GCNotificationStatus.Succeeded, GC.WaitForFullGCComplete(s_searching ? 60_000 : 0));
            GC.CancelFullGCNotification();
        }
        Expect.Equal(GCNotificationStatus.Failed, GC.WaitForFullGCApproach(20));
    }

    private static void WaitsCancelled()
    {
        Func<int, GCNotificationStatus>[] waits = [GC.WaitForFullGCApproach, GC.WaitForFullGCComplete];
        foreach (Func<int, GCNotificationStatus> wait in waits)
        {
            GC.RegisterForFullGCNotification(10, 10);
            GCNotificationStatus status = default;
            int started = 0;
            var thread = new Thread(() =>
            {
                Volatile.Write(ref started, 1);
                status = wait(Timeout.Infinite);
            });
            thread.Start();
            while (Volatile.Read(ref started) == 0)
                Thread.Yield();
            Thread.Sleep(20);
            GC.CancelFullGCNotification();
            thread.Join();
            // One that had not begun to wait yet finds nobody registered.
            Expect.True(status is GCNotificationStatus.Canceled or GCNotificationStatus.Failed || (s_searching && status == GCNotificationStatus.Succeeded), $"the wait ended with {status}");
        }
    }

    private static void Counts()
    {
        int young = GC.CollectionCount(0), old = GC.CollectionCount(GC.MaxGeneration);
        Expect.True(young >= old);
        for (int i = 1; i <= 5; i++)
        {
            GC.Collect();
            Expect.True(GC.CollectionCount(GC.MaxGeneration) >= old + i, $"{GC.CollectionCount(GC.MaxGeneration)} full collections after {i} more than {old}");
            Expect.True(GC.CollectionCount(1) >= GC.CollectionCount(GC.MaxGeneration) - 1);
        }
        long index = GC.GetGCMemoryInfo(GCKind.Any).Index;
        Expect.True(index > 0);
        Expect.Equal(GC.MaxGeneration, GC.GetGCMemoryInfo(GCKind.FullBlocking).Generation);
        GC.Collect();
        Expect.True(GC.GetGCMemoryInfo(GCKind.Any).Index > index);
        Expect.True(GC.GetGCMemoryInfo(GCKind.FullBlocking).Index > index);
        young = GC.CollectionCount(0);
        GC.Collect(0);
        Expect.True(GC.CollectionCount(0) > young);
        Expect.True(GC.GetTotalPauseDuration() > TimeSpan.Zero);
    }

    private sealed class AtEachCollection
    {
        public static int Runs;

        ~AtEachCollection()
        {
            Runs++;
            if (Runs < 5)
                GC.ReRegisterForFinalize(this);
        }
    }

    // What programs do until a collection has happened: each of these loops ends.
    private static void Loops()
    {
        foreach (Action collect in (Action[])[GC.Collect, () => GC.Collect(0), () => GC.Collect(GC.MaxGeneration, GCCollectionMode.Optimized, blocking: false)])
        {
            var weak = Forgotten();
            while (weak.IsAlive)
                collect();
            int before = GC.CollectionCount(0);
            while (GC.CollectionCount(0) == before)
                collect();
            AtEachCollection.Runs = 0;
            Make();
            while (Volatile.Read(ref AtEachCollection.Runs) < 5)
            {
                collect();
                GC.WaitForPendingFinalizers();
            }
        }

        static void Make()
        {
            var thread = new Thread(() => GC.KeepAlive(new AtEachCollection()));
            thread.Start();
            thread.Join();
        }
    }

    // On another thread: no register of this one holds it.
    private static WeakReference Forgotten()
    {
        WeakReference? weak = null;
        var thread = new Thread(() => weak = new WeakReference(new Subject(1)));
        thread.Start();
        thread.Join();
        return weak!;
    }

    private static void LoopsAllocating()
    {
        int before = GC.CollectionCount(0);
        long bytes = 0;
        for (; GC.CollectionCount(0) == before; bytes += 1_000)
            Heap.Delete(new byte[1_000]);
        Expect.True(bytes < 1_000_000_000, $"{bytes} bytes were allocated before a collection was counted");
    }

    private static byte[] Large(long length) => new byte[length];

    private static void ByThreads()
    {
        long[] counted = new long[8];
        Thread[] threads = [.. Enumerable.Range(0, 8).Select(id => new Thread(() =>
        {
            long start = GC.GetAllocatedBytesForCurrentThread();
            for (int i = 0; i < 10_000; i++)
            {
                byte[] item = new byte[100];
                if (i % 2 == 0)
                    Heap.Delete(item);
                if (i % 1_000 == 0)
                    GC.Collect();
            }
            counted[id] = GC.GetAllocatedBytesForCurrentThread() - start;
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        foreach (long bytes in counted)
            Expect.True(bytes is >= 1_280_000 and < 1_400_000, $"10,000 arrays of 128 bytes counted as {bytes}");
    }
}
