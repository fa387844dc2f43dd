using System;

namespace Freehold.Collections;

/// <summary>The elements of a sequence or slice as spans, each of what is in one leaf. In a <c>foreach</c>, or by number.</summary>
/// <typeparam name="T">The elements' type.</typeparam>
public readonly struct TreeChunks<T>
{
    private readonly TreeSequence<T> _sequence;
    private readonly int _index;
    private readonly int _count;

    internal TreeChunks(TreeSequence<T> sequence, int index, int count)
    {
        _sequence = sequence;
        _index = index;
        _count = count;
    }

    /// <summary>How many spans there are.</summary>
    public int Count => _count == 0 ? 0 : ((_index + _count - 1) >> Leaf<T>.Shift) - (_index >> Leaf<T>.Shift) + 1;

    /// <summary>One of the spans.</summary>
    /// <param name="number">At least 0, less than <see cref="Count"/>.</param>
    /// <exception cref="ArgumentOutOfRangeException">There is no such span, or the sequence became shorter.</exception>
    public Span<T> this[int number]
    {
        get
        {
            if ((uint)number >= (uint)Count)
            {
                Throw.IndexOutOfRange(number, Count);
            }

            int begin = Math.Max(_index, ((_index >> Leaf<T>.Shift) + number) << Leaf<T>.Shift);
            int end = _index + _count;
            if (end > _sequence.Count)
            {
                Throw.IndexOutOfRange(end - 1, _sequence.Count);
            }

            return _sequence.SpanAt(begin, end - begin);
        }
    }

    /// <summary>For <c>foreach</c>.</summary>
    public Enumerator GetEnumerator() => _sequence is null ? default : new(_sequence, _index, _index + _count);

    /// <summary>Enumerates the spans.</summary>
    public ref struct Enumerator
    {
        private readonly TreeSequence<T> _sequence;
        private readonly int _version;
        private readonly int _end;
        private int _next;
        private Span<T> _current;

        internal Enumerator(TreeSequence<T> sequence, int index, int end)
        {
            _sequence = sequence;
            _version = sequence.Version;
            _next = index;
            _end = end;
            if (end > sequence.Count)
            {
                Throw.IndexOutOfRange(end - 1, sequence.Count);
            }
        }

        /// <summary>The span.</summary>
        public readonly Span<T> Current => _current;

        /// <summary>Goes to the next span; false behind the last.</summary>
        /// <exception cref="InvalidOperationException">The number or order of elements was changed meanwhile.</exception>
        public bool MoveNext()
        {
            // Of chunks that are default.
            if (_sequence is null)
            {
                return false;
            }

            Span<T> chunk = _sequence.ChunkFrom(_next, _end, _version);
            _current = chunk;
            _next += chunk.Length;
            return !chunk.IsEmpty;
        }
    }
}
