using System.Text;

namespace Freehold.Contract;

/// <summary>The model of a sequence: numbers in an array.</summary>
internal sealed class Numbers(int capacity)
{
    private readonly int[] _items = new int[capacity];

    public int Count { get; private set; }

    public bool IsFull => Count == _items.Length;

    public ReadOnlySpan<int> Span => _items.AsSpan(0, Count);

    public int this[int index]
    {
        get => _items[index];
        set => _items[index] = value;
    }

    public void Insert(int index, int number)
    {
        for (int i = Count++; i > index; i--)
            _items[i] = _items[i - 1];
        _items[index] = number;
    }

    public int RemoveAt(int index)
    {
        int number = _items[index];
        Count--;
        for (int i = index; i < Count; i++)
            _items[i] = _items[i + 1];
        return number;
    }

    public void Sort() => _items.AsSpan(0, Count).Sort();

    public void Reverse(int index, int count) => _items.AsSpan(index, count).Reverse();

    public void Clear() => Count = 0;
}

internal sealed class ListModel(Random random) : CollectionModel(random)
{
    private readonly Numbers _numbers = new(400);
    private List<Element> _list = [];

    public override void Step()
    {
        int number = Random.Next(1_000), count = _numbers.Count, at = Random.Next(count + 1);
        switch (Random.Next(count == 0 ? 3 : 12))
        {
            case < 3 when !_numbers.IsFull:
                _list.Insert(at, new Element(number));
                _numbers.Insert(at, number);
                break;
            case 3 when !_numbers.IsFull:
                _list.Add(new Element(number));
                _numbers.Insert(count, number);
                break;
            case 4 or 5 when at < count:
                Element removed = _list[at];
                _list.RemoveAt(at);
                Expect(removed.Is(_numbers.RemoveAt(at)), "what was removed is another");
                Element.Delete(removed);
                break;
            case 6:
                // By equality: the first that equals a stranger.
                var probe = new Element(number);
                int found = _list.IndexOf(probe);
                Expect(found == _numbers.Span.IndexOf(number), "IndexOf");
                Expect(_list.Contains(probe) == found >= 0, "Contains");
                Element.Delete(probe);
                break;
            case 7 when at < count:
                Element replaced = _list[at];
                _list[at] = new Element(number);
                _numbers[at] = number;
                Element.Delete(replaced);
                break;
            case 8 when Random.Next(20) == 0:
                _list.Sort();
                _numbers.Sort();
                break;
            case 9 when Random.Next(4) == 0:
                _list.Reverse(at, count - at);
                _numbers.Reverse(at, count - at);
                break;
            case 10 when Random.Next(10) == 0:
                Element[] copy = _list.ToArray();
                for (int i = 0; i < count; i++)
                    Expect(ReferenceEquals(copy[i], _list[i]), "ToArray");
                Heap.Delete(copy);
                break;
            case 11 when count > 300:
                foreach (Element element in _list)
                    Element.Delete(element);
                _list.Clear();
                _numbers.Clear();
                break;
            default:
                if (at < count)
                    Expect(_list[at].Is(_numbers[at]), "an element is another");
                break;
        }
    }

    public override void Check()
    {
        Expect(_list.Count == _numbers.Count, "Count");
        int i = 0;
        foreach (Element element in _list)
            Expect(element.Is(_numbers[i++]), "an element is another");
    }

    public override void Renew()
    {
        foreach (Element element in _list)
            Element.Delete(element);
        Heap.Delete(_list);
        _list = [];
        _numbers.Clear();
    }
}

internal sealed class QueueModel(Random random) : CollectionModel(random)
{
    private readonly Numbers _numbers = new(300);
    private Queue<Element> _queue = new();

    public override void Step()
    {
        int number = Random.Next(1_000_000);
        if (!_numbers.IsFull && Random.Next(2) == 0)
        {
            _queue.Enqueue(new Element(number));
            _numbers.Insert(_numbers.Count, number);
        }
        else if (_queue.TryDequeue(out Element? first))
        {
            Expect(first.Is(_numbers.RemoveAt(0)), "the first is another");
            Element.Delete(first);
        }
    }

    public override void Check()
    {
        Expect(_queue.Count == _numbers.Count, "Count");
        int i = 0;
        foreach (Element element in _queue)
            Expect(element.Is(_numbers[i++]), "an element is another");
    }

    public override void Renew()
    {
        while (_queue.TryDequeue(out Element? element))
            Element.Delete(element);
        Heap.Delete(_queue);
        _queue = new();
        _numbers.Clear();
    }
}

internal sealed class StackModel(Random random) : CollectionModel(random)
{
    private readonly Numbers _numbers = new(300);
    private Stack<Element> _stack = new();

    public override void Step()
    {
        int number = Random.Next(1_000_000);
        if (!_numbers.IsFull && Random.Next(2) == 0)
        {
            _stack.Push(new Element(number));
            _numbers.Insert(_numbers.Count, number);
        }
        else if (_stack.TryPop(out Element? last))
        {
            Expect(last.Is(_numbers.RemoveAt(_numbers.Count - 1)), "the last is another");
            Element.Delete(last);
        }
    }

    public override void Check()
    {
        Expect(_stack.Count == _numbers.Count, "Count");
        int i = _numbers.Count;
        foreach (Element element in _stack)
            Expect(element.Is(_numbers[--i]), "an element is another");
    }

    public override void Renew()
    {
        while (_stack.TryPop(out Element? element))
            Element.Delete(element);
        Heap.Delete(_stack);
        _stack = new();
        _numbers.Clear();
    }
}

internal sealed class LinkedListModel(Random random) : CollectionModel(random)
{
    private readonly Numbers _numbers = new(100);
    private LinkedList<Element> _list = new();

    public override void Step()
    {
        int number = Random.Next(1_000_000), at = Random.Next(_numbers.Count + 1);
        if (!_numbers.IsFull && Random.Next(2) == 0)
        {
            if (NodeAt(at) is { } next)
                _list.AddBefore(next, new Element(number));
            else
                _list.AddLast(new Element(number));
            _numbers.Insert(at, number);
        }
        else if (NodeAt(at) is { } node)
        {
            Element element = node.Value;
            Expect(element.Is(_numbers.RemoveAt(at)), "the node's element is another");
            _list.Remove(node);
            Heap.Delete(node);
            Element.Delete(element);
        }
    }

    public override void Check()
    {
        Expect(_list.Count == _numbers.Count, "Count");
        int i = _numbers.Count;
        for (LinkedListNode<Element>? node = _list.Last; node is not null; node = node.Previous)
            Expect(node.Value.Is(_numbers[--i]), "an element is another");
        Expect(i == 0, "the way back ends early");
    }

    public override void Renew()
    {
        while (_list.First is { } node)
        {
            _list.RemoveFirst();
            Element.Delete(node.Value);
            Heap.Delete(node);
        }
        Heap.Delete(_list);
        _list = new();
        _numbers.Clear();
    }

    private LinkedListNode<Element>? NodeAt(int index)
    {
        LinkedListNode<Element>? node = _list.First;
        for (; index > 0; index--)
            node = node!.Next;
        return node;
    }
}

internal sealed class PriorityQueueModel(Random random) : CollectionModel(random)
{
    private const int Most = 300;

    // How many elements there are of each number, which is the priority too.
    private readonly int[] _counts = new int[500];
    private int _count;
    private PriorityQueue<Element, int> _queue = new();

    public override void Step()
    {
        int number = Random.Next(_counts.Length);
        if (_count < Most && Random.Next(2) == 0)
        {
            _queue.Enqueue(new Element(number), number);
            _counts[number]++;
            _count++;
        }
        else if (_queue.TryDequeue(out Element? first, out int priority))
        {
            Expect(first.Is(priority) && priority == Array.FindIndex(_counts, count => count != 0), "the first is another");
            _counts[priority]--;
            _count--;
            Element.Delete(first);
        }
    }

    public override void Check()
    {
        Expect(_queue.Count == _count, "Count");
        long sum = 0, expected = 0;
        foreach ((Element element, int priority) in _queue.UnorderedItems)
        {
            Expect(element.Is(priority) && _counts[priority] > 0, "an element that was never added");
            sum += priority;
        }
        for (int number = 0; number < _counts.Length; number++)
            expected += (long)number * _counts[number];
        Expect(sum == expected, "the sum of all");
    }

    public override void Renew()
    {
        while (_queue.TryDequeue(out Element? element, out _))
            Element.Delete(element);
        Heap.Delete(_queue);
        _queue = new();
        Array.Clear(_counts);
        _count = 0;
    }
}

internal sealed class StringBuilderModel(Random random) : CollectionModel(random)
{
    private readonly Numbers _characters = new(600);
    private StringBuilder _builder = new();

    public override void Step()
    {
        int count = _characters.Count, at = Random.Next(count + 1);
        switch (Random.Next(5))
        {
            case < 2 when count < 500:
                string text = new((char)('a' + Random.Next(26)), Random.Next(1, 80));
                _builder.Insert(at, text);
                for (int i = 0; i < text.Length; i++)
                    _characters.Insert(at, text[0]);
                Heap.Delete(text);
                break;
            case 2:
                int removed = Math.Min(Random.Next(100), count - at);
                _builder.Remove(at, removed);
                for (int i = 0; i < removed; i++)
                    _characters.RemoveAt(at);
                break;
            case 3:
                char from = (char)('a' + Random.Next(26)), to = (char)('a' + Random.Next(26));
                _builder.Replace(from, to);
                for (int i = 0; i < count; i++)
                    _characters[i] = _characters[i] == from ? to : _characters[i];
                break;
            default:
                if (at < count)
                    Expect(_builder[at] == _characters[at], "a character is another");
                break;
        }
    }

    public override void Check()
    {
        Expect(_builder.Length == _characters.Count, "Length");
        string text = _builder.ToString();
        for (int i = 0; i < text.Length; i++)
            Expect(text[i] == _characters[i], "a character is another");
        if (text.Length != 0)
            Heap.Delete(text);  // the empty one is a literal
    }

    public override void Renew()
    {
        Heap.Delete(_builder);
        _builder = new();
        _characters.Clear();
    }
}
