using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Collections;

// Operations on many elements. Of an array the overload for spans is taken, and not the one for collections.
public sealed partial class TreeList<T>
{
    /// <summary>Adds elements at the end.</summary>
    /// <param name="items">The elements; it may be a part of this list.</param>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements. The list is as it was.</exception>
    [OverloadResolutionPriority(1)]
    public void AddRange(ReadOnlySpan<T> items)
    {
        int index = Count;
        OpenGap(index, items.Length);
        CopyIn(index, items);
    }

    /// <summary>Adds what a collection has at the end.</summary>
    /// <param name="collection">The collection; it may be this list.</param>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements.</exception>
    public void AddRange(IEnumerable<T> collection)
    {
        ArgumentNullException.ThrowIfNull(collection);
        if (!TryInsert(Count, collection))
        {
            foreach (T item in collection)
            {
                Add(item);
            }
        }
    }

    /// <summary>Inserts elements; what follows moves.</summary>
    /// <param name="index">Where: at least 0, at most <see cref="TreeSequence{T}.Count"/>.</param>
    /// <param name="items">The elements, which are no part of this list: what follows the index moves before they are read.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such place.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements. The list is as it was.</exception>
    [OverloadResolutionPriority(1)]
    public void InsertRange(int index, ReadOnlySpan<T> items)
    {
        OpenGap(index, items.Length);
        CopyIn(index, items);
    }

    /// <summary>Inserts what a collection has; what follows moves once.</summary>
    /// <param name="index">Where: at least 0, at most <see cref="TreeSequence{T}.Count"/>.</param>
    /// <param name="collection">The collection; it may be this list. An exception from it leaves the list as it was.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such place.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements. The list is as it was.</exception>
    public void InsertRange(int index, IEnumerable<T> collection)
    {
        ArgumentNullException.ThrowIfNull(collection);
        if ((uint)index > (uint)Count)
        {
            throw new ArgumentOutOfRangeException(nameof(index), index, $"The index must be at least 0 and at most the number of elements, {Count}.");
        }

        if (TryInsert(index, collection))
        {
            return;
        }

        var items = new TreeList<T>();
        try
        {
            items.AddRange(collection);
            TryInsert(index, items);
        }
        finally
        {
            if (Heap.IsManual)
            {
                Heap.Delete(items);
            }
        }
    }

    /// <summary>Removes elements; what follows moves, and leaves are deleted.</summary>
    /// <param name="index">The first one.</param>
    /// <param name="count">How many.</param>
    /// <exception cref="ArgumentOutOfRangeException">A number is negative.</exception>
    /// <exception cref="ArgumentException">There are not so many.</exception>
    public void RemoveRange(int index, int count)
    {
        Throw.UnlessRange(index, count, Count);
        CloseGap(index, count);
    }

    /// <summary>Removes the elements that fulfil a condition.</summary>
    /// <param name="match">The condition. An exception from it leaves the elements that it was asked for and those behind; those that fulfilled it until then are removed.</param>
    /// <returns>How many were removed.</returns>
    /// <exception cref="InvalidOperationException">The condition changed the list.</exception>
    public int RemoveAll(Predicate<T> match)
    {
        ArgumentNullException.ThrowIfNull(match);
        int version = Version, read = 0, written = 0, count = Count;
        var from = new TreeCursor<T>(this, 0);
        var to = new TreeCursor<T>(this, 0);
        try
        {
            for (; read < count; read++)
            {
                T item = from[read];
                bool matches = match(item);
                if (version != Version)
                {
                    Throw.Modified();
                }

                if (!matches)
                {
                    to[written++] = item;
                }
            }
        }
        finally
        {
            if (version == Version && read != written)
            {
                CloseGap(written, read - written);
            }
        }

        return read - written;
    }

    // What is in memory in one piece, or in the pieces of a tree, is copied by pieces.
    private bool TryInsert(int index, IEnumerable<T> collection)
    {
        switch (collection)
        {
            case TreeSequence<T> sequence:
                int count = sequence.Count;
                OpenGap(index, count);
                if (ReferenceEquals(sequence, this))
                {
                    // Its own elements: those behind the place have moved.
                    CopyIn(index, this, 0, index);
                    CopyIn(index + index, this, index + count, count - index);
                }
                else
                {
                    CopyIn(index, sequence, 0, count);
                }

                return true;
            case T[] array:
                InsertRange(index, new ReadOnlySpan<T>(array));
                return true;
            case List<T> list:
                InsertRange(index, (ReadOnlySpan<T>)CollectionsMarshal.AsSpan(list));
                return true;
            default:
                return false;
        }
    }
}
