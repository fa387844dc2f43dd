using System;
using System.Collections;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Collections;

/// <summary>A sequence whose elements are in leaves of at most 32 KB, under two levels of directories: what <see cref="TreeArray{T}"/> and <see cref="TreeList{T}"/> have in common.</summary>
/// <typeparam name="T">Of any type, values and references, up to 32,744 bytes each.</typeparam>
/// <remarks>
/// No allocation is larger than 32 KB, and an element never moves in memory while the sequence grows: a <c>ref</c> to it stays right. When a sequence becomes shorter, leaves are
/// deleted: a later use of a reference or a span into one behaves as if it were alive, or throws <see cref="DanglingReferenceException"/>.
/// Any number of threads may read, and write different elements; while one thread changes how many there are, no other may use the sequence. This holds for all its views too.
/// The idea, arrays as trees, is that of Zagieboylo, Suh and Myers, "The Cost of Software-Based Memory Management Without Virtual Memory" (2020).
/// </remarks>
public abstract partial class TreeSequence<T> : IReadOnlyList<T>
{
    // A directory has no holes: its leaves are in front. All leaves have Leaf<T>.Length elements, so an index within a leaf needs no check.
    private T[]?[]?[] _root = [];

    [Owned(Elements = true)]
    private readonly TreeParts<T> _parts;

    private int _leaves;

    private protected TreeSequence()
    {
        Leaf<T>.RequireFits();
        _parts = new TreeParts<T>(this);
    }

    /// <summary>The number of elements.</summary>
    public int Count { get; private protected set; }

    /// <summary>How many elements there is memory for.</summary>
    public int Capacity => (int)Math.Min(int.MaxValue, (long)_leaves << Leaf<T>.Shift);

    /// <summary>The elements as spans, in order: each is what one leaf has. Loops over them cost what loops over an array cost.</summary>
    public TreeChunks<T> Chunks => new(this, 0, Count);

    internal T[]?[]?[] Root => _root;

    /// <summary>Changes with every change of the number or order of elements, as <see cref="List{T}"/>'s.</summary>
    internal int Version { get; private protected set; }

    private protected int Leaves => _leaves;

    /// <summary>The element at an index: to read, to write, or to refer to.</summary>
    /// <param name="index">At least 0, less than <see cref="Count"/>.</param>
    /// <remarks>It walks the three levels each time. A loop is faster with an enumerator, <see cref="Chunks"/> or a <see cref="Cursor"/>.</remarks>
    /// <exception cref="ArgumentOutOfRangeException">There is no such element.</exception>
    public ref T this[int index]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            if ((uint)index >= (uint)Count)
            {
                Throw.IndexOutOfRange(index, Count);
            }

            return ref At(index);
        }
    }

    T IReadOnlyList<T>.this[int index] => this[index];

    /// <summary>A view that remembers the leaf that it was in last: for loops with strides, or with accesses near each other.</summary>
    /// <param name="index">Where it stands.</param>
    public TreeCursor<T> Cursor(int index = 0) => new(this, index);

    /// <summary>A view of a part of the elements. It holds no elements itself.</summary>
    /// <param name="index">The first one.</param>
    /// <param name="count">How many.</param>
    /// <exception cref="ArgumentOutOfRangeException">A number is negative.</exception>
    /// <exception cref="ArgumentException">There are not so many.</exception>
    public TreeSlice<T> Slice(int index, int count)
    {
        Throw.UnlessRange(index, count, Count);
        return new TreeSlice<T>(this, index, count);
    }

    IEnumerator<T> IEnumerable<T>.GetEnumerator() => Enumerate();

    IEnumerator IEnumerable.GetEnumerator() => Enumerate();

    /// <summary>Without the check of the index: nothing outside of a leaf is reached, but what is there may be no element.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal ref T At(int index)
    {
        T[]? leaf = LeafAt(index >> Leaf<T>.Shift);

        // There is one, unless another thread shortens the sequence. Without this the compiler checks for null by a read of the array's header: one more line of the cache for each random access.
        if (leaf is null)
        {
            Throw.Modified();
        }

        return ref Unsafe.Add(ref MemoryMarshal.GetArrayDataReference(leaf), index & Leaf<T>.Mask);
    }

    /// <summary>What follows in one leaf, from an index on, up to so many elements. The range must be one of the sequence; a negative one, which a race can make, is empty.</summary>
    /// <remarks>Not made of the array: that would check its type, as an array of references may be one of a derived type.</remarks>
    internal Span<T> SpanAt(int index, int count) => count <= 0 ? default : MemoryMarshal.CreateSpan(ref At(index), Math.Min(count, Leaf<T>.Length - (index & Leaf<T>.Mask)));

    /// <summary>The elements of one leaf, from an index to the end; empty behind the last. For enumerators.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal Span<T> ChunkFrom(int index, int end, int version)
    {
        if (version != Version)
        {
            Throw.Modified();
        }

        return SpanAt(index, end - index);
    }

    /// <summary>The elements of the leaf that an index is in. For cursors.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal Span<T> LeafWith(int index)
    {
        // Read once: another thread may make it smaller, even negative, and the span reaches at least to the index.
        int count = Count;
        if (index < 0 || index >= count)
        {
            Throw.IndexOutOfRange(index, count);
        }

        int first = index & ~Leaf<T>.Mask;
        return SpanAt(first, count - first);
    }

    // The version is one of now, and not of the first step.
    private IEnumerator<T> Enumerate() => Enumerate(0, Count, Version);

    private IEnumerator<T> Enumerate(int index, int end, int version)
    {
        T[]? leaf = null;
        for (; ; index++)
        {
            if (version != Version)
            {
                Throw.Modified();
            }

            if (index >= end)
            {
                yield break;
            }

            if (leaf is null || (index & Leaf<T>.Mask) == 0)
            {
                leaf = LeafAt(index >> Leaf<T>.Shift);
            }

            yield return leaf[index & Leaf<T>.Mask];
        }
    }

    /// <summary>Allocates leaves until there are so many. A failure leaves what there is.</summary>
    private protected void GrowTo(int leaves)
    {
        while (_leaves < leaves)
        {
            AddLeaf();
        }
    }

    /// <summary>Deletes leaves from the end until no more than so many are left, and directories without leaves.</summary>
    private protected void ShrinkTo(int leaves)
    {
        while (_leaves > leaves)
        {
            int leaf = --_leaves;
            ref T[]?[]? directory = ref _root[leaf >> Directory.Shift];
            ref T[]? place = ref directory![leaf & Directory.Mask];
            T[]? last = place;
            place = null;
            Directory.Free(last);
            if ((leaf & Directory.Mask) == 0)
            {
                T[]?[] empty = directory;
                directory = null;
                Directory.Free(empty);
            }
        }

        if (leaves == 0)
        {
            T[]?[]?[] root = _root;
            _root = [];
            Directory.Free(root);
        }
    }

    /// <summary>Throws when there can be no so long sequence.</summary>
    private protected static void RequirePossible(long count)
    {
        if (count > Leaf<T>.MostElements)
        {
            Throw.TooLong(typeof(T), Leaf<T>.MostElements);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private T[] LeafAt(int leaf) => _root[leaf >> Directory.Shift]![leaf & Directory.Mask]!;

    private void AddLeaf()
    {
        int slot = _leaves >> Directory.Shift, at = _leaves & Directory.Mask;
        if (slot == _root.Length)
        {
            T[]?[]?[] old = _root;
            _root = Directory.Grow(old);
            Directory.Free(old);
        }

        T[]?[]? directory = _root[slot];
        if (directory is null || at == directory.Length)
        {
            T[]?[] larger = Directory.Grow(directory);
            _root[slot] = larger;
            Directory.Free(directory);
            directory = larger;
        }

        directory[at] = new T[Leaf<T>.Length];
        _leaves++;
    }
}
