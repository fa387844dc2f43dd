using System.Runtime.CompilerServices;

namespace DocumentIndex;

/// <summary>
/// All terms: a hash table from text to number, the entries by number, and the numbers in the order of the text for prefix
/// searches. Everything lives in arrays, so that no long-lived object lies between the short-lived ones of the documents.
/// </summary>
internal sealed class TermTable
{
    private const int EntriesPerChunk = 1024;
    private const int TextChunkSize = 60_000;

    private Term[][] _chunks = new Term[16][];
    private byte[][] _text = new byte[16][];
    private int _textChunks;
    private int _textUsed = TextChunkSize;

    /// <summary>Open addressing; 0 is free, otherwise number + 1.</summary>
    private int[] _slots = new int[1 << 16];

    /// <summary>The terms below <see cref="_sortedCount"/> in order; those above it wait for the next merge.</summary>
    private int[] _sorted = new int[1 << 14];
    private int[] _merged = new int[1 << 14];
    private int _sortedCount;

    public int Count { get; private set; }

    public ref Term this[int number]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => ref _chunks[number / EntriesPerChunk][number % EntriesPerChunk];
    }

    public ReadOnlySpan<byte> TextOf(int number)
    {
        ref var term = ref this[number];
        return _text[term.TextChunk].AsSpan(term.TextOffset, term.TextLength);
    }

    /// <summary>The number of a term, or -1.</summary>
    public int Find(ReadOnlySpan<byte> text)
    {
        var number = _slots[SlotOf(text, HashOf(text))] - 1;
        return number;
    }

    public int GetOrAdd(ReadOnlySpan<byte> text)
    {
        var hash = HashOf(text);
        var slot = SlotOf(text, hash);
        var number = _slots[slot] - 1;
        if (number < 0)
        {
            number = Add(text, hash);
            _slots[slot] = number + 1;
            if (Count * 2 > _slots.Length)
            {
                Rehash();
            }
        }

        return number;
    }

    /// <summary>
    /// Brings the order up to date and finds the terms that begin with <paramref name="prefix"/>:
    /// a range of <see cref="Sorted"/>.
    /// </summary>
    public (int Start, int End) FindPrefix(ReadOnlySpan<byte> prefix)
    {
        if (_sortedCount < Count)
        {
            MergeNewTerms();
        }

        int start = 0, end = _sortedCount;
        while (start < end)
        {
            var middle = (start + end) >>> 1;
            if (TextOf(_sorted[middle]).SequenceCompareTo(prefix) < 0)
            {
                start = middle + 1;
            }
            else
            {
                end = middle;
            }
        }

        while (end < _sortedCount && TextOf(_sorted[end]).StartsWith(prefix))
        {
            end++;
        }

        return (start, end);
    }

    /// <summary>Numbers in the order of the terms' text, as of the last <see cref="FindPrefix"/>.</summary>
    public ReadOnlySpan<int> Sorted => _sorted.AsSpan(0, _sortedCount);

    public void Release()
    {
        for (var i = 0; i * EntriesPerChunk < Count; i++)
        {
            Owned.Release(_chunks[i]);
        }

        for (var i = 0; i < _textChunks; i++)
        {
            Owned.Release(_text[i]);
        }

        Owned.Release(_chunks);
        Owned.Release(_text);
        Owned.Release(_slots);
        Owned.Release(_sorted);
        Owned.Release(_merged);
        Owned.Release(this);
    }

    private static uint HashOf(ReadOnlySpan<byte> text)
    {
        var hash = 2166136261u;
        foreach (var b in text)
        {
            hash = (hash ^ b) * 16777619u;
        }

        return hash ^ (hash >> 15);
    }

    private int SlotOf(ReadOnlySpan<byte> text, uint hash)
    {
        var slots = _slots;
        var mask = slots.Length - 1;
        for (var slot = (int)hash & mask; ; slot = (slot + 1) & mask)
        {
            var number = slots[slot] - 1;
            if (number < 0 || (this[number].Hash == hash && TextOf(number).SequenceEqual(text)))
            {
                return slot;
            }
        }
    }

    private int Add(ReadOnlySpan<byte> text, uint hash)
    {
        var number = Count++;
        if (number % EntriesPerChunk == 0)
        {
            if (number / EntriesPerChunk == _chunks.Length)
            {
                Owned.Grow(ref _chunks, 0);
            }

            _chunks[number / EntriesPerChunk] = new Term[EntriesPerChunk];
        }

        if (_textUsed + text.Length > TextChunkSize)
        {
            if (_textChunks == _text.Length)
            {
                Owned.Grow(ref _text, 0);
            }

            _text[_textChunks++] = new byte[TextChunkSize];
            _textUsed = 0;
        }

        ref var term = ref this[number];
        term.Hash = hash;
        term.TextChunk = _textChunks - 1;
        term.TextOffset = (ushort)_textUsed;
        term.TextLength = (ushort)text.Length;
        text.CopyTo(_text[term.TextChunk].AsSpan(_textUsed));
        _textUsed += text.Length;
        return number;
    }

    private void Rehash()
    {
        var old = _slots;
        var slots = new int[old.Length * 2];
        var mask = slots.Length - 1;
        for (var number = 0; number < Count; number++)
        {
            var slot = (int)this[number].Hash & mask;
            while (slots[slot] != 0)
            {
                slot = (slot + 1) & mask;
            }

            slots[slot] = number + 1;
        }

        _slots = slots;
        Owned.Release(old);
    }

    private void MergeNewTerms()
    {
        if (_sorted.Length < Count)
        {
            Owned.Grow(ref _sorted, Count);
            Owned.Grow(ref _merged, Count);
        }

        var added = _sorted.AsSpan(_sortedCount, Count - _sortedCount);
        for (var i = 0; i < added.Length; i++)
        {
            added[i] = _sortedCount + i;
        }

        HeapSort.Sort(added, new ByText(this));
        int left = 0, right = _sortedCount, target = 0;
        while (left < _sortedCount && right < Count)
        {
            _merged[target++] = Compare(_sorted[left], _sorted[right]) < 0 ? _sorted[left++] : _sorted[right++];
        }

        while (left < _sortedCount)
        {
            _merged[target++] = _sorted[left++];
        }

        while (right < Count)
        {
            _merged[target++] = _sorted[right++];
        }

        (_sorted, _merged) = (_merged, _sorted);
        _sortedCount = Count;
    }

    private int Compare(int a, int b) => TextOf(a).SequenceCompareTo(TextOf(b));

    private readonly struct ByText(TermTable terms) : INumberOrder
    {
        public bool IsBefore(int a, int b) => terms.Compare(a, b) < 0;
    }
}
