using System;
using System.Numerics;
using System.Runtime.ExceptionServices;

namespace Freehold.Collections;

/// <summary>
/// Introsort of a range: parted by cursors, which each remember a leaf, until a part is no longer than a leaf; that one the framework sorts. It holds elements while it compares, so
/// where a comparison can throw it sorts a copy. Parts that do not become small fast enough are sorted by heapsort.
/// </summary>
internal ref struct TreeSorter<T, TOrder>
    where TOrder : struct, ITreeOrder<T>
{
    private readonly TreeSequence<T> _sequence;
    private readonly TOrder _order;
    private readonly int _bufferLength;
    private T[]? _buffer;

    private TreeSorter(TreeSequence<T> sequence, TOrder order, int count)
    {
        _sequence = sequence;
        _order = order;
        _bufferLength = Math.Min(count, Leaf<T>.Length);
    }

    internal static void Sort(TreeSequence<T> sequence, int index, int count, TOrder order)
    {
        var sorter = new TreeSorter<T, TOrder>(sequence, order, count);
        try
        {
            sorter.Sort(index, index + count, 2 * (BitOperations.Log2((uint)count | 1) + 1));
        }
        catch (InvalidOperationException exception) when (exception.InnerException is DanglingReferenceException or OutOfMemoryException)
        {
            // The framework's sort wraps all that a comparison throws.
            ExceptionDispatchInfo.Throw(exception.InnerException);
        }
        catch (Exception exception) when (exception is not (InvalidOperationException or DanglingReferenceException or OutOfMemoryException))
        {
            throw new InvalidOperationException("Two elements could not be compared.", exception);
        }
        finally
        {
            Directory.Free(sorter._buffer);
        }
    }

    // [low, high). The smaller part is sorted by recursion, so the stack has no more than a logarithm of frames.
    private void Sort(int low, int high, int depth)
    {
        while (high - low > Leaf<T>.Length)
        {
            if (depth-- == 0)
            {
                HeapSort(low, high - low);
                return;
            }

            (int leftEnd, int rightBegin) = Partition(low, high);
            if (leftEnd - low < high - rightBegin)
            {
                Sort(low, leftEnd, depth);
                low = rightBegin;
            }
            else
            {
                Sort(rightBegin, high, depth);
                high = leftEnd;
            }
        }

        SortShort(low, high - low);
    }

    private void SortShort(int index, int count)
    {
        if (count < 2)
        {
            return;
        }

        Span<T> part = _sequence.SpanAt(index, count);
        if (part.Length == count && !_order.CanThrow)
        {
            _order.Sort(part);
            return;
        }

        Span<T> buffer = (_buffer ??= new T[_bufferLength]).AsSpan(0, count);
        _sequence.CopyOut(index, count, buffer);
        _order.Sort(buffer);
        _sequence.CopyIn(index, buffer);
    }

    // After Hoare. What lies between the two parts equals the pivot. The bounds are for comparisons that contradict each other.
    private readonly (int LeftEnd, int RightBegin) Partition(int low, int high)
    {
        T pivot = Median(_sequence.At(low), _sequence.At(low + ((high - low) >> 1)), _sequence.At(high - 1));
        var left = new TreeCursor<T>(_sequence, low);
        var right = new TreeCursor<T>(_sequence, low);
        int i = low, j = high - 1;
        while (true)
        {
            while (i < high && _order.Compare(left[i], pivot) < 0)
            {
                i++;
            }

            while (j >= low && _order.Compare(pivot, right[j]) < 0)
            {
                j--;
            }

            if (i >= j)
            {
                return i == j ? (j, i + 1) : (j + 1, i);
            }

            (left[i], right[j]) = (right[j], left[i]);
            i++;
            j--;
        }
    }

    private readonly T Median(T first, T second, T third)
    {
        if (_order.Compare(second, first) < 0)
        {
            (first, second) = (second, first);
        }

        return _order.Compare(third, first) < 0 ? first : _order.Compare(third, second) < 0 ? third : second;
    }

    private readonly void HeapSort(int low, int count)
    {
        for (int root = (count / 2) - 1; root >= 0; root--)
        {
            SiftDown(low, root, count);
        }

        for (int last = count - 1; last > 0; last--)
        {
            (_sequence.At(low), _sequence.At(low + last)) = (_sequence.At(low + last), _sequence.At(low));
            SiftDown(low, 0, last);
        }
    }

    // Swaps, so that a comparison that throws leaves every element in the sequence.
    private readonly void SiftDown(int low, int root, int count)
    {
        while (root < count / 2)
        {
            int child = (2 * root) + 1;
            if (child + 1 < count && _order.Compare(_sequence.At(low + child), _sequence.At(low + child + 1)) < 0)
            {
                child++;
            }

            ref T parent = ref _sequence.At(low + root);
            ref T larger = ref _sequence.At(low + child);
            if (_order.Compare(parent, larger) >= 0)
            {
                return;
            }

            (parent, larger) = (larger, parent);
            root = child;
        }
    }
}
