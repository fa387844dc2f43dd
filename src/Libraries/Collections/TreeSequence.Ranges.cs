using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Freehold.Collections;

// Operations on many elements. Each has an internal form for a range, which slices use too; the range is checked by then.
public abstract partial class TreeSequence<T>
{
    /// <summary>Copies all elements.</summary>
    /// <param name="destination">At least as long.</param>
    /// <exception cref="ArgumentException">It is too short.</exception>
    public void CopyTo(Span<T> destination) => CopyOut(0, Count, destination);

    /// <summary>Copies all elements into an array.</summary>
    /// <param name="array">The array.</param>
    /// <param name="arrayIndex">Where in it the first one goes.</param>
    /// <exception cref="ArgumentOutOfRangeException">The index is negative.</exception>
    /// <exception cref="ArgumentException">There is not enough room.</exception>
    public void CopyTo(T[] array, int arrayIndex = 0)
    {
        ArgumentNullException.ThrowIfNull(array);
        ArgumentOutOfRangeException.ThrowIfNegative(arrayIndex);
        if (array.Length - arrayIndex < Count)
        {
            throw new ArgumentException($"{Count} elements do not fit behind the index {arrayIndex} of an array of {array.Length}.");
        }

        // Array.Copy, as the array may be one of a derived type.
        for (int left = Count, leaf = 0; left > 0; leaf++)
        {
            int part = Math.Min(Leaf<T>.Length, left);
            Array.Copy(LeafAt(leaf), 0, array, arrayIndex, part);
            arrayIndex += part;
            left -= part;
        }
    }

    /// <summary>Overwrites elements with those of a span.</summary>
    /// <param name="source">What is copied.</param>
    /// <param name="index">The first element that is overwritten.</param>
    /// <exception cref="ArgumentOutOfRangeException">The index is negative.</exception>
    /// <exception cref="ArgumentException">There are not so many elements.</exception>
    public void CopyFrom(ReadOnlySpan<T> source, int index = 0)
    {
        Throw.UnlessRange(index, source.Length, Count);
        CopyIn(index, source);
    }

    /// <summary>Sets all elements to a value.</summary>
    /// <param name="value">The value.</param>
    public void Fill(T value) => FillRange(0, Count, value);

    /// <summary>The elements in a new array, which is one allocation, however large.</summary>
    public T[] ToArray() => ToArray(0, Count);

    /// <summary>The first index of a value, by the default equality; −1 if it is not there.</summary>
    /// <param name="item">The value.</param>
    public int IndexOf(T item) => IndexIn(0, Count, item);

    /// <summary>Whether a value is there, by the default equality.</summary>
    /// <param name="item">The value.</param>
    public bool Contains(T item) => IndexOf(item) >= 0;

    /// <summary>Reverses the order of all elements.</summary>
    public void Reverse() => ReverseRange(0, Count);

    /// <summary>Sorts all elements in place, with the memory of one leaf besides. Not stable: equal elements may change places.</summary>
    /// <param name="comparer">How to compare; null: by the elements' own order.</param>
    /// <remarks>A sort by parts (introsort): n log n comparisons also in the worst case.</remarks>
    /// <exception cref="InvalidOperationException">A comparison failed; the elements are all there, in some order.</exception>
    public void Sort(IComparer<T>? comparer = null) => SortRange(0, Count, comparer);

    /// <summary>Sorts all elements in place, with the memory of one leaf besides. Not stable: equal elements may change places.</summary>
    /// <param name="comparison">How to compare.</param>
    /// <exception cref="InvalidOperationException">A comparison failed; the elements are all there, in some order.</exception>
    public void Sort(Comparison<T> comparison)
    {
        ArgumentNullException.ThrowIfNull(comparison);
        SortRange(0, Count, comparison);
    }

    /// <summary>Finds a value in a sorted sequence.</summary>
    /// <param name="item">The value.</param>
    /// <param name="comparer">How the elements are sorted; null: by their own order.</param>
    /// <returns>Its index; if it is not there the complement (~) of the index of the first larger element, or of <see cref="Count"/>.</returns>
    /// <exception cref="InvalidOperationException">A comparison failed.</exception>
    public int BinarySearch(T item, IComparer<T>? comparer = null) => SearchRange(0, Count, item, comparer);

    internal void CopyOut(int index, int count, Span<T> destination)
    {
        if (destination.Length < count)
        {
            throw new ArgumentException($"{count} elements do not fit into a span of {destination.Length}.", nameof(destination));
        }

        // A span of a leaf of this sequence: the next leaf's elements are read before the first ones overwrite them.
        int first = Math.Min(count, Leaf<T>.Length - (index & Leaf<T>.Mask));
        if (first < count && count <= Leaf<T>.Length && destination[..count].Overlaps(SpanAt(index + first, count - first)))
        {
            SpanAt(index + first, count - first).CopyTo(destination[first..]);
            SpanAt(index, first).CopyTo(destination);
            return;
        }

        while (count > 0)
        {
            Span<T> part = SpanAt(index, count);
            part.CopyTo(destination);
            destination = destination[part.Length..];
            index += part.Length;
            count -= part.Length;
        }
    }

    internal void CopyIn(int index, ReadOnlySpan<T> source)
    {
        // A span of a leaf of this sequence: what goes to the next leaf is read before the first elements are overwritten.
        int first = Math.Min(source.Length, Leaf<T>.Length - (index & Leaf<T>.Mask));
        if (first < source.Length && source.Length <= Leaf<T>.Length && source.Overlaps(SpanAt(index, first)))
        {
            source[first..].CopyTo(SpanAt(index + first, source.Length - first));
            source[..first].CopyTo(SpanAt(index, first));
            return;
        }

        while (!source.IsEmpty)
        {
            Span<T> part = SpanAt(index, source.Length);
            source[..part.Length].CopyTo(part);
            source = source[part.Length..];
            index += part.Length;
        }
    }

    /// <summary>Copies elements of another sequence, or of this one: then ranges may overlap.</summary>
    internal void CopyIn(int index, TreeSequence<T> source, int from, int count)
    {
        if (ReferenceEquals(this, source) && from < index)
        {
            CopyUp(from, index, count);
            return;
        }

        while (count > 0)
        {
            Span<T> part = SpanAt(index, source.SpanAt(from, count).Length);
            source.SpanAt(from, part.Length).CopyTo(part);
            index += part.Length;
            from += part.Length;
            count -= part.Length;
        }
    }

    internal void FillRange(int index, int count, T value)
    {
        while (count > 0)
        {
            Span<T> part = SpanAt(index, count);
            part.Fill(value);
            index += part.Length;
            count -= part.Length;
        }
    }

    internal void ClearRange(int index, int count)
    {
        while (count > 0)
        {
            Span<T> part = SpanAt(index, count);
            part.Clear();
            index += part.Length;
            count -= part.Length;
        }
    }

    internal T[] ToArray(int index, int count)
    {
        if (count == 0)
        {
            return [];
        }

        var array = new T[count];
        CopyOut(index, count, array);
        return array;
    }

    internal int IndexIn(int index, int count, T item)
    {
        for (int end = index + count; index < end;)
        {
            // The array knows how to compare elements that are not IEquatable.
            int length = Math.Min(end - index, Leaf<T>.Length - (index & Leaf<T>.Mask));
            int found = Array.IndexOf(LeafAt(index >> Leaf<T>.Shift), item, index & Leaf<T>.Mask, length);
            if (found >= 0)
            {
                return (index & ~Leaf<T>.Mask) + found;
            }

            index += length;
        }

        return -1;
    }

    internal void ReverseRange(int index, int count)
    {
        Version++;
        var front = new TreeCursor<T>(this, index);
        var back = new TreeCursor<T>(this, index);
        for (int last = index + count - 1; index < last; index++, last--)
        {
            (front[index], back[last]) = (back[last], front[index]);
        }
    }

    internal void SortRange(int index, int count, IComparer<T>? comparer)
    {
        if (comparer is null || ReferenceEquals(comparer, Comparer<T>.Default))
        {
            Version++;
            TreeSorter<T, DefaultOrder<T>>.Sort(this, index, count, default);
            return;
        }

        Comparison<T> comparison = comparer.Compare;
        try
        {
            SortRange(index, count, comparison);
        }
        finally
        {
            if (Heap.IsManual)
            {
                Heap.Delete(comparison);
            }
        }
    }

    internal void SortRange(int index, int count, Comparison<T> comparison)
    {
        Version++;
        TreeSorter<T, ComparisonOrder<T>>.Sort(this, index, count, new ComparisonOrder<T>(comparison));
    }

    internal int SearchRange(int index, int count, T item, IComparer<T>? comparer)
    {
        try
        {
            comparer ??= Comparer<T>.Default;
            int low = index, high = index + count - 1;
            while (low <= high)
            {
                int middle = low + ((high - low) >> 1), order = comparer.Compare(At(middle), item);
                if (order == 0)
                {
                    return middle;
                }

                if (order < 0)
                {
                    low = middle + 1;
                }
                else
                {
                    high = middle - 1;
                }
            }

            return ~low;
        }
        catch (Exception exception) when (exception is not (DanglingReferenceException or OutOfMemoryException))
        {
            throw new InvalidOperationException("Two elements could not be compared.", exception);
        }
    }

    /// <summary>References that a removed element would keep are cleared; other values stay, as nobody sees them.</summary>
    private protected void Forget(int index, int count)
    {
        if (RuntimeHelpers.IsReferenceOrContainsReferences<T>())
        {
            ClearRange(index, count);
        }
    }

    // From the end, as the target lies behind.
    private void CopyUp(int from, int to, int count)
    {
        for (int end = from + count, target = to + count; count > 0;)
        {
            int part = Math.Min(count, Math.Min(((end - 1) & Leaf<T>.Mask) + 1, ((target - 1) & Leaf<T>.Mask) + 1));
            end -= part;
            target -= part;
            count -= part;
            SpanAt(end, part).CopyTo(SpanAt(target, part));
        }
    }
}
