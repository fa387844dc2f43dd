using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Threading;

namespace System;

/// <summary>The meter of <see cref="HeapMetrics"/>: an instrument for each row of the tables of figures.</summary>
internal static class HeapMeter
{
    internal const string Name = "Freehold.Heap";

    // One collection asks each instrument once, one after the other, and gets the figures of one moment; the next one, or one that comes later than this, new ones.
    private const long MostMilliseconds = 50;

    private static readonly Lock s_lock = new();
    private static readonly ulong[] s_values = new ulong[HeapStatistics.All];
    private static readonly bool[] s_grows = new bool[HeapStatistics.All];
    private static readonly bool[] s_given = new bool[HeapStatistics.All];
    private static long s_read = -MostMilliseconds - 1;
    private static int s_isCreated;
    private static Meter? s_meter;

    /// <summary>Once, and not under a garbage collector, where each figure would be a guess.</summary>
    internal static void Create()
    {
        // Not under a lock: each instrument calls the listeners that there are, and one of them may ask for the name.
        if (Heap.IsManual && Interlocked.Exchange(ref s_isCreated, 1) == 0)
        {
            s_meter = new Meter(Name, typeof(Heap).Assembly.GetName().Version?.ToString(3));
            Add(s_meter, FigureRows.Heap, FigureDescriptions.Heap, 0, always: true);
            Add(s_meter, FigureRows.Native, FigureDescriptions.Native, HeapStatistics.Count, always: false);
            Add(s_meter, FigureRows.Handles, FigureDescriptions.Handles, HeapStatistics.Count + NativeHeapStatistics.Count, always: false);
        }
    }

    private static void Add(Meter meter, FigureRow[] rows, string[] descriptions, int first, bool always)
    {
        for (int i = 0; i < rows.Length; i++)
        {
            if (rows[i].Name.Length != 0)
            {
                new Instrument(first + i, first, always ? 0 : rows.Length).Add(meter, rows[i], descriptions[i]);
            }
        }
    }

    private static ulong Read(int index)
    {
        lock (s_lock)
        {
            Refresh(index);
            s_given[index] = true;
            return s_values[index];
        }
    }

    // The other heaps are not in every process.
    private static bool IsPresent(int index, int first, int count)
    {
        lock (s_lock)
        {
            Refresh(index);
            return s_values.AsSpan(first, count).ContainsAnyExcept(0UL);
        }
    }

    private static unsafe void Refresh(int index)
    {
        if (!s_given[index] && Environment.TickCount64 - s_read <= MostMilliseconds)
        {
            return;
        }

        ulong* now = stackalloc ulong[HeapStatistics.All];
        HeapStatistics.Fill(now);
        for (int i = 0; i < s_values.Length; i++)
        {
            // A sum over running threads may be a few objects less than before. A counter that goes back is taken for a process that began again.
            s_values[i] = s_grows[i] ? Math.Max(s_values[i], now[i]) : now[i];
        }

        Array.Clear(s_given);
        s_read = Environment.TickCount64;
    }

    private sealed class Instrument(int index, int first, int count)
    {
        internal void Add(Meter meter, in FigureRow row, string description)
        {
            string? unit = row.Unit switch { FigureUnit.Bytes => "By", FigureUnit.Nanoseconds => "s", _ => null };
            if (row.Unit == FigureUnit.Nanoseconds)
            {
                Make(meter, row, unit, description, Seconds);
            }
            else
            {
                Make(meter, row, unit, description, Number);
            }
        }

        private void Make<T>(Meter meter, in FigureRow row, string? unit, string description, Func<IEnumerable<Measurement<T>>> observe)
            where T : struct
        {
            if (row.Grows)
            {
                s_grows[index] = true;
                meter.CreateObservableCounter(row.Metric, observe, unit, description);
            }
            else
            {
                meter.CreateObservableGauge(row.Metric, observe, unit, description);
            }
        }

        private bool IsPresent() => count == 0 || HeapMeter.IsPresent(index, first, count);

        private IEnumerable<Measurement<long>> Number() => IsPresent() ? [new Measurement<long>((long)Read(index))] : [];

        private IEnumerable<Measurement<double>> Seconds() => IsPresent() ? [new Measurement<double>(Read(index) / 1e9)] : [];
    }
}
