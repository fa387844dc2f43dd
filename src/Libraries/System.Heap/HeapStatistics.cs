using System.Buffers.Binary;
using System.Text;

namespace System;

/// <summary>Figures of the heap at one moment. Those that many threads change may be a few objects old.</summary>
/// <remarks>The properties, and the constructor that reads them, are generated from src/Allocator/diag/figures.inc. docs/statistics.md lists them.</remarks>
public readonly partial struct HeapStatistics
{
    /// <summary>How many values <see cref="Fill"/> has: those of this type, of the meshing malloc and of the heap of handles.</summary>
    internal const int All = Count + NativeHeapStatistics.Count + HandleHeapStatistics.Count;

    internal HeapStatistics(long allocatedBytes, long liveBytes, long residentBytes, long doubleDeletes)
        : this(stackalloc ulong[All])
    {
        AllocatedBytes = allocatedBytes;
        LiveBytes = liveBytes;
        ResidentBytes = residentBytes;
        DoubleDeletes = doubleDeletes;
    }

    /// <summary>
    /// Which thread the stop of <see cref="LongestTimeToStop"/> waited for last, and the method in which its managed code then stood, as a stack trace names it. Empty
    /// when all threads stood at once.
    /// </summary>
    public string HeldUpBy
    {
        get
        {
            if (_timeToStopPlace == 0)
            {
                return "";
            }

            Span<byte> name = stackalloc byte[2 * sizeof(ulong)];
            BinaryPrimitives.WriteUInt64LittleEndian(name, _timeToStopThread);
            BinaryPrimitives.WriteUInt64LittleEndian(name[sizeof(ulong)..], _timeToStopThreadEnd);
            int end = name.IndexOf((byte)0);
            return $"{Encoding.UTF8.GetString(end < 0 ? name : name[..end])}{AllocationStack.DescribeFrame((nint)_timeToStopPlace)}";
        }
    }

    internal static unsafe HeapStatistics Read()
    {
        ulong* values = stackalloc ulong[All];
        Fill(values);
        return new HeapStatistics(new ReadOnlySpan<ulong>(values, All));
    }

    /// <summary>The figures now, in the order of <see cref="FigureRows"/>: heap, meshing malloc, handles.</summary>
    internal static unsafe void Fill(ulong* values)
    {
        const int OfHeaps = Count + NativeHeapStatistics.Count;
        new Span<ulong>(values, All).Clear();
        NativeHeap.GetStatistics(values, OfHeaps);
        NativeHeap.GetHandleStatistics(values + OfHeaps, HandleHeapStatistics.Count);
    }
}
