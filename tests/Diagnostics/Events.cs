using System.Collections.Concurrent;
using System.Diagnostics.Tracing;

namespace Freehold.Diagnostics;

/// <summary>The event source of the heap, and that of the runtime.</summary>
internal static class Events
{
    private const EventKeywords StopsAndPhases = (EventKeywords)3;

    // Not GCHeapCollect: when a managed thread asks for it, the runtime (ETW::GCLog::ForceGCForDiagnostics) ends the process before it has asked the heap for anything.
    private const EventKeywords AllButForcedCollections = (EventKeywords)(-1L & ~0x80_0000L);

    /// <summary>Stops with their causes, phases with what they did; and nothing any more once nobody listens.</summary>
    public static void OfTheHeap()
    {
        using var listener = new Listener();
        listener.Enable(HeapMetrics.EventSourceName, StopsAndPhases);
        using (Heap.Scope())
            GC.KeepAlive(new byte[100]);
        Heap.Compact();
        // Not all by the reclaim that is asked for: in a stress mode others run beside it, and events may be lost, so that more objects are left until enough were told of.
        Expect.Eventually(() =>
        {
            Leave(10_000);
            Heap.Reclaim();
            return listener.Sum("reclaim", 2) >= 9_000 && listener.Sum("reclaim", 3) >= 9_000 * 100;
        }, listener.All);
        Expect.Eventually(() => listener.Has("ThreadsStopped", "reclaim") && listener.Has("ThreadsStopped", "scope") && listener.Has("PhaseDone", "compaction"), listener.All);
        // A stop that is told of took some time, and less than the program lasts.
        foreach (EventWrittenEventArgs written in listener.Written)
            Expect.True(written.EventName == "EventsLost" || written.Payload![1] is > 0L and < 600_000_000_000L, $"{written.EventName} {string.Join(" ", written.Payload!)}");

        listener.DisableEvents(listener.Source!);
        // One may be on its way to the listener, for however long its thread waits for a processor.
        int before = listener.Written.Count;
        for (int i = 0; i < 100; i++)
            Heap.Reclaim();
        Expect.True(listener.Written.Count <= before + 1, $"{listener.Written.Count - before} events for nobody");

        // Again, for somebody who chooses.
        listener.Written.Clear();
        listener.Enable(HeapMetrics.EventSourceName, (EventKeywords)1);
        Heap.Reclaim();
        Expect.Eventually(() => listener.Has("ThreadsStopped", "reclaim"), listener.All);
        Expect.True(listener.Written.Count(written => written.EventName == "PhaseDone") <= 1, "no phases for who wants stops, but one that was on its way");
    }

    /// <summary>With FREEHOLD_RECLAIM=report: leaks, for who asks for them.</summary>
    public static void Leaks()
    {
        using var listener = new Listener();
        listener.Enable(HeapMetrics.EventSourceName, (EventKeywords)8);
        int rounds = 0;
        Expect.Eventually(() =>
        {
            // 124 MB at most.
            if (rounds++ < 100)
                Leave(10_000);
            return listener.Written.Any(written => written.EventName == "LeaksFound" && (long)written.Payload![0]! >= 10_000 && (long)written.Payload[1]! > 16_000_000);
        }, listener.All);
    }

    /// <summary>With a small heap: that memory is short.</summary>
    public static void Pressure()
    {
        using var listener = new Listener();
        listener.Enable(HeapMetrics.EventSourceName, (EventKeywords)4);
        var held = new List<byte[]>();
        Expect.Eventually(() =>
        {
            try
            {
                held.Add(new byte[1_000_000]);
            }
            catch (OutOfMemoryException)
            {
                // Until it was told of.
            }
            if (!listener.Written.Any(written => written.EventName == "MemoryPressure" && (long)written.Payload![2]! == 64 << 20))
                return false;
            held.Clear();
            return true;
        }, () => "MemoryPressure");
    }

    /// <summary>The runtime's own provider: what it does not know it does not tell, and nothing ends the program.</summary>
    public static void OfTheRuntime()
    {
        using var listener = new Listener();
        listener.Enable("Microsoft-Windows-DotNETRuntime", AllButForcedCollections);
        for (int i = 0; i < 10; i++)
        {
            GC.Collect();
            new Thread(() => { }).Start();
        }
        GC.WaitForPendingFinalizers();
        // Threads were stopped, and that is told of.
        Expect.Eventually(() => listener.Written.Any(written => written.EventName?.StartsWith("GCSuspendEEBegin", StringComparison.Ordinal) == true), () => string.Join(" ", listener.Written.Select(written => written.EventName).Distinct()));
        string[] invented = ["GCStart", "GCEnd", "GCHeapStats"];
        Expect.True(!listener.Written.Any(written => invented.Any(name => written.EventName?.StartsWith(name, StringComparison.Ordinal) == true)), "no collections where there is no collector");
    }

    private static void Leave(int objects)
    {
        for (int i = 0; i < objects; i++)
            GC.KeepAlive(new byte[100]);
    }

    private sealed class Listener : EventListener
    {
        public ConcurrentQueue<EventWrittenEventArgs> Written { get; } = new();

        public EventSource? Source { get; private set; }

        public void Enable(string name, EventKeywords keywords)
        {
            EventSource? found = EventSource.GetSources().FirstOrDefault(source => source.Name == name);
            Expect.True(found is not null, $"an event source {name}");
            Source = found;
            EnableEvents(found!, EventLevel.Verbose, keywords);
        }

        public bool Has(string name, string kind, Func<IReadOnlyList<object?>, bool>? of = null) =>
            Written.Any(written => written.EventName == name && (string)written.Payload![0]! == kind && (of is null || of(written.Payload!)));

        /// <summary>Of all phases whose name ends so.</summary>
        public long Sum(string phase, int field) =>
            Written.Where(written => written.EventName == "PhaseDone" && ((string)written.Payload![0]!).EndsWith(phase, StringComparison.Ordinal)).Sum(written => (long)written.Payload![field]!);

        public string All() => string.Join("; ", Written.Select(written => $"{written.EventName}({string.Join(", ", written.Payload!)})"));

        protected override void OnEventWritten(EventWrittenEventArgs eventData)
        {
            // Called for sources of the runtime while the base class is made, too.
            // A source that is not well made says so in an event of this name.
            if (eventData.EventName == "EventSourceMessage" && eventData.EventSource == Source)
                Environment.FailFast((string)eventData.Payload![0]!);
            if (eventData.EventSource == Source)
                Written.Enqueue(eventData);
        }
    }
}
