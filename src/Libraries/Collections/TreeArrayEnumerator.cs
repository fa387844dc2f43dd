using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Collections;

/// <summary>Enumerates a <see cref="TreeArray{T}"/> or a <see cref="TreeSlice{T}"/>. Within a leaf a step counts down and adds, in registers.</summary>
/// <typeparam name="T">The elements' type.</typeparam>
/// <remarks>That the array was resized meanwhile is seen at the end of a leaf. It counts, as a comparison of two references
/// would have to tell the names of an object that has moved apart. No method takes the address of the structure: so the compiler keeps it in registers.</remarks>
public ref struct TreeArrayEnumerator<T>
{
    private readonly TreeSequence<T> _sequence;
    private readonly int _version;
    private readonly int _end;
    private int _next;
    private int _left;
    private ref T _current;

    internal TreeArrayEnumerator(TreeSequence<T> sequence, int index, int end)
    {
        _sequence = sequence;
        _version = sequence.Version;
        _end = end;
        _next = index;
        _current = ref Unsafe.NullRef<T>();
    }

    /// <summary>The element, to read or to write; only after <see cref="MoveNext"/> returned true.</summary>
    public readonly ref T Current => ref _current;

    /// <summary>Goes to the next element; false behind the last.</summary>
    /// <exception cref="InvalidOperationException">The number or order of elements was changed meanwhile.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool MoveNext()
    {
        if (--_left >= 0)
        {
            _current = ref Unsafe.Add(ref _current, 1);
            return true;
        }

        Span<T> chunk = _sequence.ChunkFrom(_next, _end, _version);
        if (chunk.IsEmpty)
        {
            _left = 0;
            return false;
        }

        _next += chunk.Length;
        _current = ref MemoryMarshal.GetReference(chunk);
        _left = chunk.Length - 1;
        return true;
    }
}
