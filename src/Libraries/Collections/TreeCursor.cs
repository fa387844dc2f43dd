using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Collections;

/// <summary>A view of a sequence that remembers a leaf: an access within that leaf costs one comparison, and none of the levels is walked.</summary>
/// <typeparam name="T">The elements' type.</typeparam>
/// <remarks>For the time in which the sequence does not become shorter: after that an access may lead into a leaf that was deleted.</remarks>
public ref struct TreeCursor<T>
{
    private readonly TreeSequence<T> _sequence;
    private ref T _leaf;
    private int _first;
    private int _length;

    internal TreeCursor(TreeSequence<T> sequence, int index)
    {
        _sequence = sequence;
        _leaf = ref Unsafe.NullRef<T>();
        Index = index;
    }

    /// <summary>Where the cursor stands; it may be set to any number, and <see cref="Current"/> then checks it.</summary>
    public int Index { get; set; }

    /// <summary>The element at <see cref="Index"/>, to read or to write.</summary>
    /// <exception cref="ArgumentOutOfRangeException">There is no such element.</exception>
    public ref T Current
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => ref this[Index];
    }

    /// <summary>The element at an index; the cursor stays where it stands, and remembers the leaf.</summary>
    /// <param name="index">At least 0, less than the sequence's count.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such element.</exception>
    public ref T this[int index]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            int offset = index - _first;
            if ((uint)offset >= (uint)_length)
            {
                Span<T> leaf = _sequence.LeafWith(index);
                _leaf = ref MemoryMarshal.GetReference(leaf);
                _length = leaf.Length;
                _first = index & ~Leaf<T>.Mask;
                offset = index & Leaf<T>.Mask;
            }

            return ref Unsafe.Add(ref _leaf, offset);
        }
    }

    /// <summary>Goes forward, or back if the step is negative.</summary>
    /// <param name="step">How far.</param>
    /// <returns>False, and the cursor stays, if there is no element.</returns>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool TryMove(int step = 1)
    {
        long index = (long)Index + step;
        if ((ulong)index >= (ulong)_sequence.Count)
        {
            return false;
        }

        Index = (int)index;
        return true;
    }
}
