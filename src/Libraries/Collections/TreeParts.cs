using System;
using System.Collections;

namespace Freehold.Collections;

/// <summary>
/// What <see cref="Heap.Delete"/> of a tree deletes with it: the leaves, and the directories, one after the other. It is its own enumerator, so that a deletion makes no object.
/// </summary>
internal sealed class TreeParts<T>(TreeSequence<T> sequence) : IEnumerable, IEnumerator
{
    // Of leaves; behind the last one of a directory comes the directory, behind the last directory the root.
    private int _slot;
    private int _leaf;
    private object? _current;

    object? IEnumerator.Current => _current;

    IEnumerator IEnumerable.GetEnumerator()
    {
        ((IEnumerator)this).Reset();
        return this;
    }

    bool IEnumerator.MoveNext()
    {
        T[]?[]?[] root = sequence.Root;
        if (_slot < root.Length && root[_slot] is { } directory)
        {
            if (_leaf < directory.Length && directory[_leaf] is { } leaf)
            {
                _leaf++;
                _current = leaf;
            }
            else
            {
                _leaf = 0;
                _slot++;
                _current = directory;
            }

            return true;
        }

        bool first = _slot <= root.Length && root.Length != 0;
        _slot = root.Length + 1;
        _current = first ? root : null;
        return first;
    }

    void IEnumerator.Reset()
    {
        _slot = 0;
        _leaf = 0;
        _current = null;
    }
}
