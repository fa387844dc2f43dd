using System.Diagnostics.CodeAnalysis;
using System.Diagnostics.Tracing;

namespace System;

/// <summary>The events of <see cref="HeapMetrics"/>. The heap puts them into a queue while somebody listens (heap/trace.h); the thread of <see cref="HeapEvents"/> takes them from there.</summary>
[EventSource(Name = SourceName)]
internal sealed unsafe class HeapEventSource : EventSource
{
    internal const string SourceName = "Freehold-Heap";

    private const int Batch = 64;

    // The only one: events belong to a process.
    private static HeapEventSource? s_source;

    private EventHandler<MemoryPressureEventArgs>? _pressure;
    private EventHandler<LeakReport>? _leaks;

    private HeapEventSource()
    {
    }

    /// <summary>Whether the program was published with EventSourceSupport. The linker leaves this class out of others.</summary>
    [FeatureSwitchDefinition("System.Diagnostics.Tracing.EventSource.IsSupported")]
    internal static bool IsPossible { get; } = !AppContext.TryGetSwitch("System.Diagnostics.Tracing.EventSource.IsSupported", out bool isSupported) || isSupported;

    internal static void Create() => s_source ??= new HeapEventSource();

    /// <summary>All threads stood still.</summary>
    /// <param name="cause">"pins", "remap", "reclaim", "outgrown arrays" or "scope".</param>
    /// <param name="nanoseconds">From the request until they went on.</param>
    [Event(1, Level = EventLevel.Informational, Keywords = Keywords.Stops)]
    internal void ThreadsStopped(string cause, long nanoseconds) => WriteEvent(1, cause, nanoseconds);

    /// <summary>A phase of the background work has ended.</summary>
    /// <param name="phase">"compaction", "remap", "reclaim" or "young reclaim".</param>
    /// <param name="nanoseconds">How long it took, most of it beside the threads.</param>
    /// <param name="objects">Objects that it moved or deleted; of a remap, fields that it made current.</param>
    /// <param name="bytes">What these objects take.</param>
    [Event(2, Level = EventLevel.Informational, Keywords = Keywords.Phases)]
    [UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "Numbers and a string, no graph of objects.")]
    internal void PhaseDone(string phase, long nanoseconds, long objects, long bytes)
    {
        fixed (char* text = phase)
        {
            EventData* data = stackalloc EventData[4];
            data[0] = new EventData { DataPointer = (nint)text, Size = (phase.Length + 1) * sizeof(char) };
            data[1] = new EventData { DataPointer = (nint)(&nanoseconds), Size = sizeof(long) };
            data[2] = new EventData { DataPointer = (nint)(&objects), Size = sizeof(long) };
            data[3] = new EventData { DataPointer = (nint)(&bytes), Size = sizeof(long) };
            WriteEventCore(2, 4, data);
        }
    }

    /// <summary>What <see cref="Heap.MemoryPressure"/> tells.</summary>
    [Event(3, Level = EventLevel.Warning, Keywords = Keywords.Pressure)]
    [UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "Numbers and a string, no graph of objects.")]
    internal void MemoryPressure(long heapBytes, long liveBytes, long heapLimit, long nativeBytes, long handleBytes, long processLimit)
    {
        long* values = stackalloc long[] { heapBytes, liveBytes, heapLimit, nativeBytes, handleBytes, processLimit };
        EventData* data = stackalloc EventData[6];
        for (int i = 0; i < 6; i++)
        {
            data[i] = new EventData { DataPointer = (nint)(values + i), Size = sizeof(long) };
        }

        WriteEventCore(3, 6, data);
    }

    /// <summary>With FREEHOLD_RECLAIM=report: what <see cref="Heap.LeaksFound"/> tells. For this keyword the heap searches, with the threads stopped.</summary>
    [Event(4, Level = EventLevel.Warning, Keywords = Keywords.Leaks)]
    internal void LeaksFound(long objects, long bytes) => WriteEvent(4, objects, bytes);

    /// <summary>So many events had no room in the heap's queue.</summary>
    [Event(5, Level = EventLevel.Warning, Keywords = Keywords.Stops | Keywords.Phases)]
    internal void EventsLost(long count) => WriteEvent(5, count);

    /// <summary>What the heap has put into its queue.</summary>
    internal static void WriteTraces()
    {
        if (s_source is not { } source)
        {
            return;
        }

        TraceEvent* events = stackalloc TraceEvent[Batch];
        int count;
        do
        {
            ulong lost;
            count = NativeHeap.TakeTraces(events, Batch, &lost);
            for (int i = 0; i < count; i++)
            {
                TraceEvent next = events[i];
                if (next.Kind < TraceEvent.FirstPhase)
                {
                    source.ThreadsStopped(next.Name, next.Nanoseconds);
                }
                else
                {
                    source.PhaseDone(next.Name, next.Nanoseconds, next.Objects, next.Bytes);
                }
            }

            if (lost != 0)
            {
                source.EventsLost((long)lost);
            }
        }
        while (count == Batch);
    }

    /// <summary>Somebody begins or ends to listen.</summary>
    protected override void OnEventCommand(EventCommandEventArgs command)
    {
        bool listens = IsEnabled(EventLevel.Informational, Keywords.Stops) || IsEnabled(EventLevel.Informational, Keywords.Phases);
        if (listens)
        {
            HeapEvents.ListenToTraces();
        }

        NativeHeap.Trace(listens ? 1 : 0);
        Subscribe(ref _pressure, IsEnabled(EventLevel.Warning, Keywords.Pressure), OnPressure, HeapEvents.Add, HeapEvents.Remove);
        Subscribe(ref _leaks, IsEnabled(EventLevel.Warning, Keywords.Leaks), OnLeaks, HeapEvents.Add, HeapEvents.Remove);
    }

    private static void Subscribe<TArguments>(ref EventHandler<TArguments>? subscribed, bool wanted, EventHandler<TArguments> handler, Action<EventHandler<TArguments>?> add, Action<EventHandler<TArguments>?> remove)
    {
        if (wanted && subscribed is null)
        {
            add(subscribed = handler);
        }
        else if (!wanted && subscribed is not null)
        {
            remove(subscribed);
            subscribed = null;
        }
    }

    [NonEvent]
    private void OnPressure(object? sender, MemoryPressureEventArgs pressure) =>
        MemoryPressure(pressure.HeapBytes, pressure.LiveBytes, pressure.HeapLimit, pressure.NativeBytes, pressure.HandleBytes, pressure.ProcessLimit);

    [NonEvent]
    private void OnLeaks(object? sender, LeakReport report) => LeaksFound(report.Count, report.Bytes);

    /// <summary>What a listener can choose.</summary>
    [SuppressMessage("Design", "CA1034:Nested types should not be visible", Justification = "EventSource looks for a public class of this name.")]
    public static class Keywords
    {
        /// <summary>Stops of the threads.</summary>
        public const EventKeywords Stops = (EventKeywords)1;

        /// <summary>Phases of the background work.</summary>
        public const EventKeywords Phases = (EventKeywords)2;

        /// <summary>Shortage of memory.</summary>
        public const EventKeywords Pressure = (EventKeywords)4;

        /// <summary>Leaks, which are searched for.</summary>
        public const EventKeywords Leaks = (EventKeywords)8;
    }
}
