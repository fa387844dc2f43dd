using System.Collections.Generic;
using System.Diagnostics.Metrics;
using System.Threading;

namespace System;

/// <summary>The meter of <see cref="HeapMetrics"/>: an instrument for each row of the tables of figures.</summary>
internal static class HeapMeter
{
    internal const string Name = "Freehold.Heap";

    // A collection runs on one thread, and asks each of its instruments once: it gets the figures of one moment. Who asks for the same again, or later than this, gets new ones.
    private const long MostMilliseconds = 1_000;

    private static readonly Lock s_lock = new();
    private static readonly ulong[] s_most = new ulong[HeapStatistics.All];
    private static readonly bool[] s_grows = new bool[HeapStatistics.All];
    private static readonly int s_allocated = IndexOf(nameof(HeapStatistics.AllocatedBytes));
    private static readonly int s_deleted = IndexOf(nameof(HeapStatistics.DeletedBytes));
    private static readonly int s_live = IndexOf(nameof(HeapStatistics.LiveBytes));
    private static int s_isCreated;
    private static Meter? s_meter;

    // Of the thread: two may collect at once.
    [ThreadStatic]
    private static Snapshot? t_snapshot;

    /// <summary>Once, and not under a garbage collector, where each figure would be a guess.</summary>
    internal static void Create()
    {
        // Not under a lock: each instrument calls the listeners that there are, and one of them may ask for the name.
        if (Heap.IsManual && Interlocked.Exchange(ref s_isCreated, 1) == 0)
        {
            var meter = new Meter(Name, typeof(Heap).Assembly.GetName().Version?.ToString(3));
            try
            {
                Add(meter, FigureRows.Heap, FigureDescriptions.Heap, 0, always: true);
                Add(meter, FigureRows.Native, FigureDescriptions.Native, HeapStatistics.Count, always: false);
                Add(meter, FigureRows.Handles, FigureDescriptions.Handles, HeapStatistics.Count + NativeHeapStatistics.Count, always: false);
                s_meter = meter;
            }
            catch
            {
                // A listener has thrown, or there is no memory: no meter with a part of the instruments. The next who asks for it may have more luck.
                meter.Dispose();
                Volatile.Write(ref s_isCreated, 0);
                throw;
            }
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

    private static int IndexOf(string figure) => Array.FindIndex(FigureRows.Heap, row => row.Name == figure);

    private static Snapshot Of(int index)
    {
        Snapshot snapshot = t_snapshot ??= new Snapshot();
        snapshot.Refresh(index);
        return snapshot;
    }

    private sealed class Snapshot
    {
        private readonly ulong[] _values = new ulong[HeapStatistics.All];
        private readonly bool[] _given = new bool[HeapStatistics.All];
        private long _read = -MostMilliseconds - 1;

        internal unsafe void Refresh(int index)
        {
            bool isNext = _given[index];
            if (!isNext && Environment.TickCount64 - _read <= MostMilliseconds)
            {
                return;
            }

            // Not under the lock: the heap of handles asks the loader, whose lock a constructor of a library may hold that waits for this one.
            ulong* now = stackalloc ulong[HeapStatistics.All];
            HeapStatistics.Fill(now);
            lock (s_lock)
            {
                for (int i = 0; i < _values.Length; i++)
                {
                    // A sum over running threads may be a few objects less than before, and another thread may have read later. A counter that goes back is taken for a process that began again.
                    _values[i] = s_grows[i] ? s_most[i] = Math.Max(s_most[i], now[i]) : now[i];
                }
            }

            _values[s_live] = _values[s_allocated] - Math.Min(_values[s_allocated], _values[s_deleted]);
            // In the middle of a collection that takes long, what was given before stays so: the next one begins with that, and is a new one as a whole.
            if (isNext)
            {
                Array.Clear(_given);
            }

            _read = Environment.TickCount64;
        }

        internal ulong Read(int index)
        {
            _given[index] = true;
            return _values[index];
        }

        // The other heaps are not in every process.
        internal bool HasAny(int first, int count) => _values.AsSpan(first, count).ContainsAnyExcept(0UL);
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

        private bool IsPresent(Snapshot snapshot) => count == 0 || snapshot.HasAny(first, count);

        private IEnumerable<Measurement<long>> Number()
        {
            Snapshot now = Of(index);
            return IsPresent(now) ? [new Measurement<long>((long)now.Read(index))] : [];
        }

        private IEnumerable<Measurement<double>> Seconds()
        {
            Snapshot now = Of(index);
            return IsPresent(now) ? [new Measurement<double>(now.Read(index) / 1e9)] : [];
        }
    }
}
