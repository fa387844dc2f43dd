using System;
using System.Collections.Generic;

namespace Freehold.Collections;

/// <summary>A view of a part of a <see cref="TreeArray{T}"/> or <see cref="TreeList{T}"/>. It has no elements of its own.</summary>
/// <typeparam name="T">The elements' type.</typeparam>
/// <remarks>When the sequence became shorter than the slice's end, every member throws but <see cref="Count"/> and accesses by index to elements that are left.</remarks>
public readonly struct TreeSlice<T>
{
    private readonly TreeSequence<T> _sequence;
    private readonly int _index;

    internal TreeSlice(TreeSequence<T> sequence, int index, int count)
    {
        _sequence = sequence;
        _index = index;
        Count = count;
    }

    /// <summary>The number of elements.</summary>
    public int Count { get; }

    /// <summary>The elements as spans, each of what is in one leaf.</summary>
    public TreeChunks<T> Chunks => new(Whole, _index, Count);

    private TreeSequence<T> Whole
    {
        get
        {
            if (_sequence is { } sequence)
            {
                Throw.UnlessRange(_index, Count, sequence.Count);
                return sequence;
            }

            return Empty.Sequence;
        }
    }

    /// <summary>The element at an index of the slice, to read or to write.</summary>
    /// <param name="index">At least 0, less than <see cref="Count"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such element.</exception>
    public ref T this[int index]
    {
        get
        {
            if ((uint)index >= (uint)Count)
            {
                Throw.IndexOutOfRange(index, Count);
            }

            return ref _sequence[_index + index];
        }
    }

    /// <summary>A part of the slice.</summary>
    /// <param name="index">The first element, counted from the slice's first.</param>
    /// <param name="count">How many.</param>
    /// <exception cref="ArgumentOutOfRangeException">A number is negative.</exception>
    /// <exception cref="ArgumentException">There are not so many.</exception>
    public TreeSlice<T> Slice(int index, int count)
    {
        Throw.UnlessRange(index, count, Count);
        return new TreeSlice<T>(Whole, _index + index, count);
    }

    /// <summary>Copies the elements.</summary>
    /// <param name="destination">At least as long.</param>
    /// <exception cref="ArgumentException">It is too short.</exception>
    public void CopyTo(Span<T> destination) => Whole.CopyOut(_index, Count, destination);

    /// <summary>Copies the elements to another place, of the same sequence or another one. The two may overlap.</summary>
    /// <param name="destination">At least as long.</param>
    /// <exception cref="ArgumentException">It is too short.</exception>
    public void CopyTo(TreeSlice<T> destination)
    {
        if (destination.Count < Count)
        {
            throw new ArgumentException($"{Count} elements do not fit into a slice of {destination.Count}.", nameof(destination));
        }

        destination.Whole.CopyIn(destination._index, Whole, _index, Count);
    }

    /// <summary>Overwrites the first elements with those of a span.</summary>
    /// <param name="source">What is copied.</param>
    /// <exception cref="ArgumentException">There are not so many elements.</exception>
    public void CopyFrom(ReadOnlySpan<T> source)
    {
        Throw.UnlessRange(0, source.Length, Count);
        Whole.CopyIn(_index, source);
    }

    /// <summary>Sets the elements to a value.</summary>
    /// <param name="value">The value.</param>
    public void Fill(T value) => Whole.FillRange(_index, Count, value);

    /// <summary>Sets the elements to their type's default.</summary>
    public void Clear() => Whole.ClearRange(_index, Count);

    /// <summary>The elements in a new array.</summary>
    public T[] ToArray() => Whole.ToArray(_index, Count);

    /// <summary>The first index of a value in the slice, by the default equality; −1 if it is not there.</summary>
    /// <param name="item">The value.</param>
    public int IndexOf(T item)
    {
        int found = Whole.IndexIn(_index, Count, item);
        return found < 0 ? found : found - _index;
    }

    /// <summary>Reverses the order of the elements.</summary>
    public void Reverse() => Whole.ReverseRange(_index, Count);

    /// <summary>Sorts the elements, as <see cref="TreeSequence{T}.Sort(IComparer{T})"/> does.</summary>
    /// <param name="comparer">How to compare; null: by the elements' own order.</param>
    /// <exception cref="InvalidOperationException">A comparison failed.</exception>
    public void Sort(IComparer<T>? comparer = null) => Whole.SortRange(_index, Count, comparer);

    /// <summary>Sorts the elements, as <see cref="TreeSequence{T}.Sort(Comparison{T})"/> does.</summary>
    /// <param name="comparison">How to compare.</param>
    /// <exception cref="InvalidOperationException">A comparison failed.</exception>
    public void Sort(Comparison<T> comparison)
    {
        ArgumentNullException.ThrowIfNull(comparison);
        Whole.SortRange(_index, Count, comparison);
    }

    /// <summary>Finds a value in a sorted slice.</summary>
    /// <param name="item">The value.</param>
    /// <param name="comparer">How the elements are sorted; null: by their own order.</param>
    /// <returns>Its index in the slice; if it is not there the complement (~) of the index of the first larger element, or of <see cref="Count"/>.</returns>
    /// <exception cref="InvalidOperationException">A comparison failed.</exception>
    public int BinarySearch(T item, IComparer<T>? comparer = null)
    {
        int found = Whole.SearchRange(_index, Count, item, comparer);
        return found < 0 ? ~(~found - _index) : found - _index;
    }

    /// <summary>For <c>foreach</c>.</summary>
    public TreeArrayEnumerator<T> GetEnumerator() => new(Whole, _index, _index + Count);

    // Of a slice that is default.
    private static class Empty
    {
        internal static readonly TreeArray<T> Sequence = new(0);
    }
}
