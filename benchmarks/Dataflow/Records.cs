namespace Freehold.Benchmarks.Dataflow;

/// <summary>What flows. Who has it last ends it.</summary>
internal interface IRecord
{
    void End();
}

internal sealed class Document(int id, string title, int length, int author) : IRecord
{
    public readonly int Id = id;
    public readonly string Title = title;
    public readonly int Length = length;
    public readonly int Author = author;

    public void End()
    {
        if (Heap.IsManual)
        {
            Heap.Delete(Title);
            Heap.Delete(this);
        }
    }
}

internal sealed class Author(int id, string name) : IRecord
{
    public readonly int Id = id;
    public readonly string Name = name;

    public void End()
    {
        if (Heap.IsManual)
        {
            Heap.Delete(Name);
            Heap.Delete(this);
        }
    }
}

/// <summary>What a query finds of an author.</summary>
internal sealed class Finding(int author, long value, string text, bool ownsText) : IRecord
{
    public readonly int Author = author;
    public readonly long Value = value;
    public readonly string Text = text;

    public void End()
    {
        if (Heap.IsManual)
        {
            if (ownsText)
            {
                Heap.Delete(Text);
            }

            Heap.Delete(this);
        }
    }
}

/// <summary>So many records of an epoch. The last batch of an epoch may be empty.</summary>
internal sealed class Batch<T>(int epoch, int size)
    where T : class, IRecord
{
    private readonly Slot[] _items = new Slot[size];

    // A reference in a struct: storing it needs no check of the array's type, on either heap.
    private struct Slot
    {
        public T Record;
    }

    public int Epoch => epoch;

    public int Count { get; private set; }

    public bool IsFull => Count == _items.Length;

    public bool EndsEpoch { get; set; }

    public T this[int i] => _items[i].Record;

    public void Add(T record) => _items[Count++].Record = record;

    /// <summary>Without its records.</summary>
    public void End()
    {
        if (Heap.IsManual)
        {
            Heap.Delete(_items);
            Heap.Delete(this);
        }
    }
}
