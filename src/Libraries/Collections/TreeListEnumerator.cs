using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Collections;

/// <summary>Enumerates a <see cref="TreeList{T}"/>; every step sees whether the list was changed, as that of <see cref="System.Collections.Generic.List{T}"/> does.</summary>
/// <typeparam name="T">The elements' type.</typeparam>
public ref struct TreeListEnumerator<T>
{
    private readonly TreeList<T> _list;
    private readonly int _version;
    private int _next;
    private int _left;
    private ref T _current;

    internal TreeListEnumerator(TreeList<T> list)
    {
        _list = list;
        _version = list.Version;
        _current = ref Unsafe.NullRef<T>();
    }

    /// <summary>The element, to read or to write; only after <see cref="MoveNext"/> returned true.</summary>
    public readonly ref T Current => ref _current;

    /// <summary>Goes to the next element; false behind the last.</summary>
    /// <exception cref="InvalidOperationException">The number or order of elements was changed meanwhile.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public bool MoveNext()
    {
        if (_version == _list.Version && --_left >= 0)
        {
            _current = ref Unsafe.Add(ref _current, 1);
            return true;
        }

        Span<T> chunk = _list.ChunkFrom(_next, _list.Count, _version);
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
