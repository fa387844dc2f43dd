using System;
using System.Collections.Generic;

namespace Freehold.Collections;

/// <summary>An array without a large contiguous range of memory: leaves of at most 32 KB under two levels of directories.</summary>
/// <typeparam name="T">Of any type, values and references, up to 32,744 bytes each.</typeparam>
/// <remarks>
/// <see cref="Heap.Delete"/> deletes the leaves with it; the elements are the program's. <see cref="Resize"/> copies no element. See <see cref="TreeSequence{T}"/> for what
/// other threads may do, and <see cref="TreeList{T}"/> for a list.
/// </remarks>
public sealed class TreeArray<T> : TreeSequence<T>, IList<T>
{
    /// <summary>An array of so many elements, each its type's default.</summary>
    /// <param name="length">How many.</param>
    /// <exception cref="ArgumentOutOfRangeException">It is negative.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements.</exception>
    /// <exception cref="NotSupportedException">One element has more than 32,744 bytes.</exception>
    public TreeArray(int length)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(length);
        Resize(length);
    }

    /// <summary>An array with a copy of these elements.</summary>
    /// <param name="elements">The elements.</param>
    public TreeArray(ReadOnlySpan<T> elements)
        : this(elements.Length) => CopyFrom(elements);

    /// <summary>The number of elements.</summary>
    public int Length => Count;

    bool ICollection<T>.IsReadOnly => true;

    T IList<T>.this[int index]
    {
        get => this[index];
        set => this[index] = value;
    }

    /// <summary>For <c>foreach</c>; elements can be written through <c>ref</c>.</summary>
    public TreeArrayEnumerator<T> GetEnumerator() => new(this, 0, Count);

    /// <summary>Makes the array longer, by elements that are their type's default, or shorter. No element is copied; leaves that are not needed any more are deleted.</summary>
    /// <param name="length">The new length.</param>
    /// <exception cref="ArgumentOutOfRangeException">It is negative.</exception>
    /// <exception cref="OutOfMemoryException">There is not so much memory, or three levels do not hold so many elements. The array is as it was.</exception>
    public void Resize(int length)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(length);
        RequirePossible(length);
        int leaves = Leaf<T>.CountFor(length);
        if (length > Count)
        {
            int before = Leaves;
            try
            {
                GrowTo(leaves);
            }
            catch (OutOfMemoryException)
            {
                ShrinkTo(before);
                throw;
            }
        }
        else
        {
            // What becomes an element again must be the default then.
            int keptEnd = (int)Math.Min(Count, (long)leaves << Leaf<T>.Shift);
            ClearRange(length, keptEnd - length);
            ShrinkTo(leaves);
        }

        Count = length;
        Version++;
    }

    /// <summary>Sets all elements to their type's default.</summary>
    public void Clear() => ClearRange(0, Count);

    void ICollection<T>.Add(T item) => throw FixedSize();

    void ICollection<T>.Clear() => throw FixedSize();

    bool ICollection<T>.Remove(T item) => throw FixedSize();

    void IList<T>.Insert(int index, T item) => throw FixedSize();

    void IList<T>.RemoveAt(int index) => throw FixedSize();

    private static NotSupportedException FixedSize() => new("An array has a fixed number of elements. Use TreeArray<T>.Resize, or a TreeList<T>.");
}
