using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;

namespace Freehold.Collections;

/// <summary>A list without a large contiguous range of memory. It grows without copying elements, and gives leaves back when it becomes shorter.</summary>
/// <typeparam name="T">Of any type, values and references, up to 32,744 bytes each.</typeparam>
/// <remarks>
/// <see cref="Heap.Delete"/> deletes the leaves with it; the elements are the program's. The first element already has a whole leaf, 16 to 32 KB: for small lists <see cref="List{T}"/> is better.
/// Insertion and removal in the middle move what follows, as in <see cref="List{T}"/>. After a removal at most one empty leaf is kept, and what <see cref="EnsureCapacity"/> asked for.
/// See <see cref="TreeSequence{T}"/> for what other threads may do.
/// </remarks>
public sealed partial class TreeList<T> : TreeSequence<T>, IList<T>
{
    // Leaves that the program asked for: removals leave them.
    private int _reserved;

    /// <summary>An empty list, without a leaf.</summary>
    /// <exception cref="NotSupportedException">One element has more than 32,744 bytes.</exception>
    public TreeList()
    {
    }

    /// <summary>An empty list with memory for so many elements.</summary>
    /// <param name="capacity">How many.</param>
    /// <exception cref="ArgumentOutOfRangeException">It is negative.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements.</exception>
    /// <exception cref="NotSupportedException">One element has more than 32,744 bytes.</exception>
    public TreeList(int capacity) => EnsureCapacity(capacity);

    /// <summary>A list of what a collection has.</summary>
    /// <param name="collection">The collection.</param>
    public TreeList(IEnumerable<T> collection) => AddRange(collection);

    bool ICollection<T>.IsReadOnly => false;

    T IList<T>.this[int index]
    {
        get => this[index];
        set
        {
            this[index] = value;
            Version++;
        }
    }

    /// <summary>For <c>foreach</c>; elements can be written through <c>ref</c>.</summary>
    public TreeListEnumerator<T> GetEnumerator() => new(this);

    /// <summary>Adds an element at the end. No element moves.</summary>
    /// <param name="item">The element.</param>
    /// <exception cref="OutOfMemoryException">There is no memory for another leaf, or three levels do not hold more elements. The list is as it was.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public void Add(T item)
    {
        int count = Count;
        if (count >> Leaf<T>.Shift == Leaves)
        {
            Reserve((long)count + 1);
        }

        Count = count + 1;
        Version++;
        At(count) = item;
    }

    /// <summary>Inserts an element; what follows moves by one.</summary>
    /// <param name="index">Where: at least 0, at most <see cref="TreeSequence{T}.Count"/>.</param>
    /// <param name="item">The element.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such place.</exception>
    public void Insert(int index, T item)
    {
        OpenGap(index, 1);
        At(index) = item;
    }

    /// <summary>Removes the element at an index; what follows moves by one.</summary>
    /// <param name="index">At least 0, less than <see cref="TreeSequence{T}.Count"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such element.</exception>
    public void RemoveAt(int index)
    {
        if ((uint)index >= (uint)Count)
        {
            Throw.IndexOutOfRange(index, Count);
        }

        CloseGap(index, 1);
    }

    /// <summary>Removes the first element that equals a value, by the default equality.</summary>
    /// <param name="item">The value.</param>
    /// <returns>Whether there was one.</returns>
    public bool Remove(T item)
    {
        int index = IndexOf(item);
        if (index < 0)
        {
            return false;
        }

        CloseGap(index, 1);
        return true;
    }

    /// <summary>Removes all elements, and deletes all leaves but one and what <see cref="EnsureCapacity"/> asked for.</summary>
    /// <remarks>The elements are the program's; what was removed and nobody else refers to, it deletes before.</remarks>
    public void Clear() => CloseGap(0, Count);

    /// <summary>Sees to it that there is memory for so many elements; removals leave it, until <see cref="TrimExcess"/>.</summary>
    /// <param name="capacity">How many.</param>
    /// <returns>How many there is memory for.</returns>
    /// <exception cref="ArgumentOutOfRangeException">It is negative.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements.</exception>
    public int EnsureCapacity(int capacity)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(capacity);
        Reserve(capacity);
        _reserved = Math.Max(_reserved, Leaf<T>.CountFor(capacity));
        return Capacity;
    }

    /// <summary>Deletes all leaves that have no element.</summary>
    public void TrimExcess()
    {
        _reserved = 0;
        ShrinkTo(Leaf<T>.CountFor(Count));
    }

    // As one: when memory is short, what was allocated is given back. The addition of a single element, whose failure leaves nothing, comes here too.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private void Reserve(long count)
    {
        RequirePossible(count);
        int before = Leaves;
        try
        {
            GrowTo(Leaf<T>.CountFor((int)count));
        }
        catch (OutOfMemoryException)
        {
            ShrinkTo(before);
            throw;
        }
    }

    private void OpenGap(int index, int count)
    {
        if ((uint)index > (uint)Count)
        {
            throw new ArgumentOutOfRangeException(nameof(index), index, $"The index must be at least 0 and at most the number of elements, {Count}.");
        }

        if (count == 0)
        {
            return;
        }

        Reserve((long)Count + count);
        int behind = Count - index;
        Count += count;
        Version++;
        CopyIn(index + count, this, index, behind);
    }

    private void CloseGap(int index, int count)
    {
        if (count == 0)
        {
            return;
        }

        int left = Count - count;
        CopyIn(index, this, index + count, left - index);
        Forget(left, count);
        Count = left;
        Version++;
        ShrinkTo(Math.Min(Leaves, Math.Max(_reserved, Leaf<T>.CountFor(left) + 1)));
    }
}
