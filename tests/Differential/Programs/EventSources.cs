using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Diagnostics.Tracing;

namespace Freehold.Differential.Programs;

/// <summary>What a program says about itself: event sources and their listeners, diagnostic listeners, activities, meters, from many threads.</summary>
internal static partial class EventSources
{
    [EventSource(Name = "Freehold-Differential")]
    private sealed class Source : EventSource
    {
        public static readonly Source Log = new();

        private Source() : base(EventSourceSettings.EtwSelfDescribingEventFormat)
        {
        }

        [Event(1, Level = EventLevel.Informational, Keywords = Keywords.Work)]
        public void Worked(int id, string what) => WriteEvent(1, id, what);

        [Event(2, Level = EventLevel.Warning, Keywords = Keywords.Trouble)]
        public void Trouble(string what, long amount) => WriteEvent(2, what, amount);

        [Event(3, Level = EventLevel.Verbose)]
        public void Detail(byte[] bytes) => WriteEvent(3, bytes);

        public static class Keywords
        {
            public const EventKeywords Work = (EventKeywords)1, Trouble = (EventKeywords)2;
        }
    }

    private sealed class Listener(EventLevel level, EventKeywords keywords) : EventListener
    {
        private long _sum;
        private int _count;

        public string Result => _count + " " + _sum;

        public void Enable() => EnableEvents(Source.Log, level, keywords);

        protected override void OnEventWritten(EventWrittenEventArgs data)
        {
            if (data.EventSource.Name != "Freehold-Differential" || data.EventId <= 0)
                return;
            Interlocked.Increment(ref _count);
            long sum = data.EventId + (data.Payload?.Count ?? 0);
            foreach (object? value in data.Payload ?? new([]))
                sum += value is string text ? text.Length : value is byte[] bytes ? bytes.Length : Convert.ToInt64(value);
            Interlocked.Add(ref _sum, sum + data.EventName!.Length + (data.PayloadNames?.Count ?? 0));
        }
    }

    public static void Run()
    {
        Console.WriteLine(Source.Log.Name + " " + Source.Log.Guid + " " + Source.Log.IsEnabled());
        using (var all = new Listener(EventLevel.Verbose, EventKeywords.All))
        using (var trouble = new Listener(EventLevel.Warning, Source.Keywords.Trouble))
        {
            all.Enable();
            trouble.Enable();
            Parallel.For(0, 8, thread =>
            {
                for (int i = 0; i < 300; i++)
                {
                    Source.Log.Worked(i, "work " + thread);
                    if (i % 10 == 0)
                        Source.Log.Trouble("trouble", i);
                    byte[] bytes = new byte[i % 50];
                    if (Source.Log.IsEnabled(EventLevel.Verbose, EventKeywords.None))
                        Source.Log.Detail(bytes);
                    Manual.Delete(bytes);
                }
            });
            Console.WriteLine(all.Result + " / " + trouble.Result);
        }
        // Listeners that come and go while events are written.
        bool stop = false;
        var writer = new Thread(() =>
        {
            for (int i = 0; !Volatile.Read(ref stop); i++)
                Source.Log.Worked(i, "between");
        });
        writer.Start();
        for (int i = 0; i < 50; i++)
        {
            var listener = new Listener(EventLevel.Verbose, EventKeywords.All);
            listener.Enable();
            listener.Dispose();
        }
        Volatile.Write(ref stop, true);
        writer.Join();
        Console.WriteLine(Source.Log.IsEnabled());
        Diagnostics();
        Activities();
        Meters();
    }

    private sealed class Observer(Action<string, object?> seen) : IObserver<KeyValuePair<string, object?>>, IObserver<DiagnosticListener>
    {
        public void OnCompleted() => seen("completed", null);

        public void OnError(Exception error) => seen("error", error);

        public void OnNext(KeyValuePair<string, object?> value) => seen(value.Key, value.Value);

        public void OnNext(DiagnosticListener value)
        {
            if (value.Name.StartsWith("Freehold"))
                value.Subscribe(new Observer(seen), name => name != "hidden");
        }
    }

    private static void Diagnostics()
    {
        int seen = 0, length = 0;
        using IDisposable all = DiagnosticListener.AllListeners.Subscribe(new Observer((name, value) =>
        {
            Interlocked.Increment(ref seen);
            Interlocked.Add(ref length, name.Length + ((value as string)?.Length ?? 0));
        }));
        for (int i = 0; i < 20; i++)
        {
            using var listener = new DiagnosticListener("Freehold." + i);
            Parallel.For(0, 50, n =>
            {
                if (listener.IsEnabled("shown"))
                    Write(listener, "shown", "value " + (n % 10));
                if (listener.IsEnabled("hidden"))
                    Write(listener, "hidden", "never");
            });
        }
        Console.WriteLine(seen + " " + length);
    }

    [System.Diagnostics.CodeAnalysis.UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "a text")]
    private static void Write(DiagnosticListener listener, string name, string value) => listener.Write(name, value);

    private static void Activities()
    {
        using var source = new ActivitySource("Freehold.Activities");
        int started = 0, stopped = 0, tags = 0;
        using var listener = new ActivityListener
        {
            ShouldListenTo = from => from.Name.StartsWith("Freehold"),
            Sample = (ref ActivityCreationOptions<ActivityContext> options) => options.Name.Length % 2 == 0 ? ActivitySamplingResult.AllDataAndRecorded : ActivitySamplingResult.PropagationData,
            ActivityStarted = _ => Interlocked.Increment(ref started),
            ActivityStopped = activity =>
            {
                Interlocked.Increment(ref stopped);
                Interlocked.Add(ref tags, activity.TagObjects.Count() + activity.Events.Count());
            },
        };
        ActivitySource.AddActivityListener(listener);
        Parallel.For(0, 200, i =>
        {
            using Activity? outer = source.StartActivity(i % 2 == 0 ? "even" : "odd");
            outer?.SetTag("number", i).AddEvent(new ActivityEvent("event"));
            using Activity? inner = source.StartActivity("inner1", ActivityKind.Client);
            inner?.AddBaggage("key", "value " + i);
            if (inner is not null && (inner.ParentId != outer!.Id || Activity.Current != inner || inner.GetBaggageItem("key") != "value " + i))
                throw new InvalidOperationException("activity");
        });
        Console.WriteLine($"{started} {stopped} {tags} {Activity.Current is null}");
    }

    private static void Meters()
    {
        using var meter = new Meter("Freehold.Meter", "1.0");
        Counter<long> counter = meter.CreateCounter<long>("counter");
        Histogram<double> histogram = meter.CreateHistogram<double>("histogram");
        meter.CreateObservableGauge("gauge", () => new[] { new Measurement<int>(3, new KeyValuePair<string, object?>("side", "left")), new Measurement<int>(4) });
        long counted = 0, observed = 0;
        int values = 0;
        using var listener = new MeterListener
        {
            InstrumentPublished = (instrument, self) =>
            {
                if (instrument.Meter.Name == "Freehold.Meter")
                    self.EnableMeasurementEvents(instrument, "state");
            },
        };
        listener.SetMeasurementEventCallback<long>((_, value, tags, _) => Interlocked.Add(ref counted, value + tags.Length));
        listener.SetMeasurementEventCallback<double>((_, _, _, _) => Interlocked.Increment(ref values));
        listener.SetMeasurementEventCallback<int>((_, value, tags, state) => Interlocked.Add(ref observed, value + tags.Length + ((string)state!).Length));
        listener.Start();
        Parallel.For(0, 1_000, i =>
        {
            counter.Add(i, new KeyValuePair<string, object?>("thread", i % 7), new("other", "text"));
            histogram.Record(i * 0.5);
        });
        listener.RecordObservableInstruments();
        Console.WriteLine($"{counted} {values} {observed}");
    }
}
