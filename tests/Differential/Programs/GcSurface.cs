namespace Freehold.Differential.Programs;

/// <summary>The System.GC calls whose answers do not depend on the heap.</summary>
internal static partial class GcSurface
{
    public static void Run()
    {
        long before = GC.GetTotalAllocatedBytes(precise: true);
        long mine = GC.GetAllocatedBytesForCurrentThread();
        object[] kept = new object[1_000];
        for (int i = 0; i < kept.Length; i++)
            kept[i] = new byte[1_000];
        long allocated = GC.GetTotalAllocatedBytes(precise: true) - before;
        Console.WriteLine((allocated >= 1_000_000) + " " + (allocated < 3_000_000));
        Console.WriteLine(GC.GetAllocatedBytesForCurrentThread() - mine >= 1_000_000);
        Console.WriteLine(GC.GetTotalMemory(false) >= 1_000_000);
        GC.Collect();
        GC.Collect(0);
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Forced, blocking: true, compacting: true);
        GC.WaitForPendingFinalizers();
        Console.WriteLine(GC.GetTotalMemory(true) >= 1_000_000);
        Console.WriteLine(GC.CollectionCount(0) >= GC.CollectionCount(GC.MaxGeneration));
        Console.WriteLine(GC.GetGeneration(kept) >= 0);
        GCMemoryInfo info = GC.GetGCMemoryInfo();
        Console.WriteLine((info.TotalAvailableMemoryBytes > 0) + " " + (info.HeapSizeBytes >= 0) + " " + (info.MemoryLoadBytes >= 0) + " " + (info.HighMemoryLoadThresholdBytes > 0));
        Console.WriteLine(GC.GetTotalPauseDuration() >= TimeSpan.Zero);
        GC.AddMemoryPressure(1_000_000);
        GC.RemoveMemoryPressure(1_000_000);
        if (GC.TryStartNoGCRegion(100_000))
        {
            var text = new string('x', 1_000);
            GC.EndNoGCRegion();
            GC.KeepAlive(text);
        }
        System.Runtime.GCLatencyMode mode = System.Runtime.GCSettings.LatencyMode;
        System.Runtime.GCSettings.LatencyMode = System.Runtime.GCLatencyMode.SustainedLowLatency;
        System.Runtime.GCSettings.LatencyMode = mode;
        Console.WriteLine(System.Runtime.GCSettings.IsServerGC);
        try
        {
            GC.Collect(-1);
        }
        catch (ArgumentOutOfRangeException)
        {
            Console.WriteLine("negative generation");
        }
        Console.WriteLine(kept.Sum(item => ((byte[])item).Length));
    }
}
