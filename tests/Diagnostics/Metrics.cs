using System.Diagnostics.Metrics;
using OpenTelemetry;
using OpenTelemetry.Metrics;

namespace Freehold.Diagnostics;

/// <summary>The meter of the heap, and that of the runtime.</summary>
internal static class Metrics
{
    /// <summary>Instruments as lines of docs/metrics.md have them: name, kind, unit.</summary>
    public static void Instruments()
    {
        var lines = new List<string>();
        string wanted = HeapMetrics.MeterName;
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, _) =>
            {
                if (instrument.Meter.Name == wanted)
                {
                    string kind = instrument.GetType().Name.StartsWith("ObservableCounter", StringComparison.Ordinal) ? "counter" : "gauge";
                    lines.Add($"| `{instrument.Name}` | {kind} | {(instrument.Unit is null ? "" : $"`{instrument.Unit}`")} |");
                    Expect.True(instrument.Description is { Length: > 10 }, instrument.Name + " has a description");
                }
            },
        };
        listener.Start();
        foreach (string line in lines)
            Console.WriteLine(line);
    }

    /// <summary>The two lines of docs/metrics.md, with an exporter that keeps what it gets.</summary>
    public static void OpenTelemetry()
    {
        var exported = new List<Metric>();
        using MeterProvider metrics = Sdk.CreateMeterProviderBuilder()
            .AddMeter(HeapMetrics.MeterName).AddInMemoryExporter(exported).Build();
        HeapStatistics before = Heap.GetStatistics();
        for (int i = 0; i < 1_000; i++)
            Heap.Delete(new byte[1_000]);
        Expect.True(metrics.ForceFlush(), "the exporter got the metrics");
        HeapStatistics after = Heap.GetStatistics();
        Dictionary<string, double> values = Values(exported);
        Between(values["freehold.heap.deleted_objects"], before.DeletedObjects + 1_000, after.DeletedObjects);
        Between(values["freehold.heap.deleted_bytes"], before.DeletedBytes + 1_000_000, after.DeletedBytes);
        Between(values["freehold.heap.allocated_bytes"], before.AllocatedBytes + 1_000_000, after.AllocatedBytes);
        Expect.True(values["freehold.heap.resident_bytes"] > 0 && values["freehold.heap.live_bytes"] > 0, "the heap holds something");
        Expect.True(values.Keys.Any(name => name.StartsWith("freehold.native.", StringComparison.Ordinal)) == (after.Native.MappingBudget != 0), "figures of malloc where there is the meshing one");
        Expect.True(!values.Keys.Any(name => name.StartsWith("freehold.handles.", StringComparison.Ordinal)), "no figures of handles without handles");
    }

    /// <summary>Nobody has asked: there is no meter. Somebody has: there is.</summary>
    public static void OnlyWhenAsked()
    {
        int found = 0;
        bool asks = false;
        using var listener = new MeterListener
        {
            // A listener may compare with the name, which makes the meter while it is asked for others.
            InstrumentPublished = (instrument, _) =>
            {
                if (asks ? instrument.Meter.Name == HeapMetrics.MeterName : instrument.Meter.Name.StartsWith("Freehold", StringComparison.Ordinal))
                    found++;
            },
        };
        listener.Start();
        asks = true;
        Expect.True(found == 0, "no instrument before somebody has read the name");
        using var other = new Meter("Other");
        other.CreateCounter<int>("one");
        Expect.True(HeapMetrics.MeterName == "Freehold.Heap", HeapMetrics.MeterName);
        Expect.True(found > 50, $"instruments afterwards, not {found}");
    }

    /// <summary>A listener that throws while instruments are made: no meter with a part of them, and the next who asks gets all.</summary>
    public static void ThrowingListener()
    {
        int made = 0;
        bool throws = true;
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, _) =>
            {
                if (instrument.Meter.Name == "Freehold.Heap" && ++made == 20 && throws)
                    throw new InvalidOperationException("a listener");
            },
        };
        listener.Start();
        bool thrown = false;
        try
        {
            _ = HeapMetrics.MeterName;
        }
        catch (InvalidOperationException)
        {
            thrown = true;
        }
        Expect.True(thrown && made == 20, $"the exception of the listener, after 20 instruments, not {made}");
        throws = false;
        _ = HeapMetrics.MeterName;
        Expect.True(made > 70, $"all instruments, not {made - 20}");
        _ = HeapMetrics.MeterName;
    }

    /// <summary>A program with event sources has the meter from its start, for tools from outside.</summary>
    public static void FromTheStart()
    {
        int found = 0;
        using var listener = new MeterListener { InstrumentPublished = (instrument, _) => found += instrument.Meter.Name == "Freehold.Heap" ? 1 : 0 };
        listener.Start();
        Expect.True(found > 50, $"instruments, not {found}");
    }

    /// <summary>What is collected together belongs together, while other threads allocate and delete; and each collection is a new one.</summary>
    public static void OneMoment()
    {
        using var stop = new CancellationTokenSource();
        Thread[] others = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            while (!stop.IsCancellationRequested)
                Heap.Delete(new byte[500]);
        }))];
        foreach (Thread other in others)
            other.Start();
        // Two collectors at once, each of which has figures of one moment.
        Exception? failure = null;
        var second = new Thread(() =>
        {
            try
            {
                CollectOften();
            }
            catch (Exception exception)
            {
                failure = exception;
            }
        });
        second.Start();
        CollectOften();
        second.Join();
        stop.Cancel();
        foreach (Thread other in others)
            other.Join();
        Expect.True(failure is null, $"no failure of the second collector: {failure}");
    }

    private static void CollectOften()
    {
        var values = new Dictionary<string, double>();
        using MeterListener listener = Listen(HeapMetrics.MeterName, (instrument, value) => values[instrument.Name] = value);
        double before = 0, deleted = 0;
        for (int i = 0; i < 200; i++)
        {
            Heap.Delete(new byte[100_000]);
            long start = System.Diagnostics.Stopwatch.GetTimestamp();
            listener.RecordObservableInstruments();
            double allocated = values["freehold.heap.allocated_bytes"];
            Expect.True(allocated >= before, $"{allocated} allocated, after {before}: a counter has gone back");
            // That of the object above, which this thread has counted.
            Expect.True(values["freehold.heap.deleted_objects"] >= deleted + 1, $"{values["freehold.heap.deleted_objects"]} deleted, after {deleted}: collection {i} gave old figures");
            before = allocated;
            deleted = values["freehold.heap.deleted_objects"];
            // A collection that takes longer than a second, since the machine is busy, gets new figures on the way.
            if (System.Diagnostics.Stopwatch.GetElapsedTime(start).TotalSeconds > 0.5)
                continue;
            double live = Math.Max(0, allocated - values["freehold.heap.deleted_bytes"]);
            Expect.True(values["freehold.heap.live_bytes"] == live, $"{values["freehold.heap.live_bytes"]} live of {allocated}, {live} expected");
        }
    }

    /// <summary>The runtime's own meter tells the truth.</summary>
    public static void OfTheRuntime()
    {
        var values = new Dictionary<string, double>();
        using MeterListener listener = Listen("System.Runtime", (instrument, value) => values[instrument.Name] = value, tag: "gen2");
        GC.Collect();
        listener.RecordObservableInstruments();
        double collections = values["dotnet.gc.collections"], allocated = values["dotnet.gc.heap.total_allocated"], pause = values["dotnet.gc.pause.time"];
        Expect.True(collections >= 1, "a collection of generation 2");
        Expect.True(values["dotnet.gc.last_collection.memory.committed_size"] >= Heap.GetStatistics().LiveBytes / 2, "what the heap has");
        Expect.True(values["dotnet.process.memory.working_set"] > 1_000_000, "a working set");
        for (int i = 0; i < 100; i++)
        {
            GC.Collect();
            Heap.Delete(new byte[10_000]);
        }
        listener.RecordObservableInstruments();
        Between(values["dotnet.gc.collections"], collections + 100, GC.CollectionCount(2));
        Expect.True(values["dotnet.gc.heap.total_allocated"] >= allocated + 1_000_000, "what was allocated");
        Expect.True(values["dotnet.gc.pause.time"] > pause, "stops take time");
    }

    /// <summary>What it costs that the meter is there.</summary>
    public static void Cost()
    {
        const int Times = 200;
        long start = System.Diagnostics.Stopwatch.GetTimestamp();
        _ = HeapMetrics.MeterName;
        TimeSpan made = System.Diagnostics.Stopwatch.GetElapsedTime(start);
        start = System.Diagnostics.Stopwatch.GetTimestamp();
        for (int i = 0; i < Times; i++)
            _ = Heap.GetStatistics();
        TimeSpan read = System.Diagnostics.Stopwatch.GetElapsedTime(start) / Times;
        using MeterListener listener = Listen(HeapMetrics.MeterName, (_, _) => { });
        listener.RecordObservableInstruments();
        start = System.Diagnostics.Stopwatch.GetTimestamp();
        for (int i = 0; i < Times; i++)
            listener.RecordObservableInstruments();
        TimeSpan collected = System.Diagnostics.Stopwatch.GetElapsedTime(start) / Times;
        Console.WriteLine($"the meter is made in {made.TotalMicroseconds:F0} us, GetStatistics {read.TotalMicroseconds:F2} us, a collection of all instruments {collected.TotalMicroseconds:F2} us");
    }

    private static MeterListener Listen(string meter, Action<Instrument, double> take, string? tag = null)
    {
        var listener = new MeterListener
        {
            InstrumentPublished = (instrument, listener) =>
            {
                if (instrument.Meter.Name == meter)
                    listener.EnableMeasurementEvents(instrument);
            },
        };
        // Of instruments with tags, the sum over those that are wanted.
        bool IsWanted(ReadOnlySpan<KeyValuePair<string, object?>> tags) => tag is null || tags.Length == 0 || tags[0].Value is string text && text == tag;
        listener.SetMeasurementEventCallback<long>((instrument, value, tags, _) =>
        {
            if (IsWanted(tags))
                take(instrument, value);
        });
        listener.SetMeasurementEventCallback<double>((instrument, value, tags, _) =>
        {
            if (IsWanted(tags))
                take(instrument, value);
        });
        listener.Start();
        return listener;
    }

    private static Dictionary<string, double> Values(List<Metric> metrics)
    {
        var values = new Dictionary<string, double>();
        foreach (Metric metric in metrics)
        {
            foreach (ref readonly MetricPoint point in metric.GetMetricPoints())
            {
                values[metric.Name] = metric.MetricType switch
                {
                    MetricType.LongSum => point.GetSumLong(),
                    MetricType.DoubleSum => point.GetSumDouble(),
                    MetricType.LongGauge => point.GetGaugeLastValueLong(),
                    MetricType.DoubleGauge => point.GetGaugeLastValueDouble(),
                    _ => throw new InvalidOperationException($"{metric.Name} is a {metric.MetricType}"),
                };
            }
        }
        return values;
    }

    private static void Between(double value, double least, double most) => Expect.True(value >= least && value <= most, $"{value} from {least} to {most}");
}
