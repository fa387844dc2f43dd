using System.Collections.Concurrent;
using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>The model of a table: for each key whether it is there, and with which number.</summary>
internal abstract class TableModel(Random random) : CollectionModel(random)
{
    private const int Keys = 400;

    private readonly bool[] _there = new bool[Keys];
    private int _count;

    public override void Step()
    {
        int key = Random.Next(Keys);
        switch (Random.Next(3))
        {
            case 0 when !_there[key]:
                Expect(Add(key), "there is one already");
                _there[key] = true;
                _count++;
                break;
            case 0:
                Expect(!Add(key), "there was one already");
                break;
            case 1:
                Expect(Remove(key) == _there[key], "there was none, or was one");
                _count -= _there[key] ? 1 : 0;
                _there[key] = false;
                break;
            default:
                Expect(Find(key) == _there[key], "there is none, or is one");
                break;
        }
    }

    public override void Check()
    {
        Expect(Count == _count, "Count");
        int found = 0;
        foreach (Element element in All())
        {
            Expect(element.Is(element.Number) && _there[element.Number], "an element that was never added");
            found++;
        }
        Expect(found == _count, "the elements are more or fewer than the count");
    }

    public override void Renew()
    {
        for (int key = 0; key < Keys; key++)
        {
            if (_there[key])
                Expect(Remove(key), "there was none");
            _there[key] = false;
        }
        Expect(Count == 0, "Count");
        _count = 0;
        MakeAnew();
    }

    protected abstract int Count { get; }

    /// <summary>Adds a new element, or says that there is one.</summary>
    protected abstract bool Add(int key);

    /// <summary>Removes and deletes the element, or says that there is none.</summary>
    protected abstract bool Remove(int key);

    protected abstract bool Find(int key);

    protected abstract IEnumerable<Element> All();

    protected abstract void MakeAnew();
}

/// <summary>Keyed by the elements' own names.</summary>
internal sealed class DictionaryModel(Random random) : TableModel(random)
{
    private Dictionary<string, Element> _table = [];

    protected override int Count => _table.Count;

    protected override bool Add(int key)
    {
        var element = new Element(key);
        if (_table.TryAdd(element.Name, element))
            return true;
        Element.Delete(element);
        return false;
    }

    protected override bool Remove(int key)
    {
        string name = Element.NameOf(key);
        bool removed = _table.Remove(name, out Element? element);
        Heap.Delete(name);
        if (!removed)
            return false;
        Expect(element!.Is(key), "what was removed is another");
        Element.Delete(element);
        return true;
    }

    protected override bool Find(int key)
    {
        string name = Element.NameOf(key);
        bool found = _table.TryGetValue(name, out Element? element);
        Heap.Delete(name);
        Expect(!found || element!.Is(key), "what was found is another");
        return found;
    }

    protected override IEnumerable<Element> All()
    {
        foreach ((string name, Element element) in _table)
        {
            Expect(ReferenceEquals(name, element.Name), "the key is another");
            yield return element;
        }
    }

    protected override void MakeAnew()
    {
        Heap.Delete(_table);
        _table = [];
    }
}

internal sealed class SortedDictionaryModel(Random random) : TableModel(random)
{
    private SortedDictionary<string, Element> _table = new(StringComparer.Ordinal);

    protected override int Count => _table.Count;

    protected override bool Add(int key)
    {
        var element = new Element(key);
        if (_table.TryAdd(element.Name, element))
            return true;
        Element.Delete(element);
        return false;
    }

    protected override bool Remove(int key)
    {
        string name = Element.NameOf(key);
        bool found = _table.TryGetValue(name, out Element? element);
        Expect(_table.Remove(name) == found, "Remove and TryGetValue disagree");
        Heap.Delete(name);
        if (!found)
            return false;
        Expect(element!.Is(key), "what was removed is another");
        Element.Delete(element);
        return true;
    }

    protected override bool Find(int key)
    {
        string name = Element.NameOf(key);
        bool found = _table.TryGetValue(name, out Element? element);
        Heap.Delete(name);
        Expect(!found || element!.Is(key), "what was found is another");
        return found;
    }

    protected override IEnumerable<Element> All()
    {
        string? before = null;
        foreach ((string name, Element element) in _table)
        {
            Expect(before is null || string.CompareOrdinal(before, name) < 0, "the order");
            before = name;
            yield return element;
        }
    }

    protected override void MakeAnew()
    {
        Heap.Delete(_table);
        _table = new(StringComparer.Ordinal);
    }
}

internal abstract class SetModel<TSet>(Random random) : TableModel(random)
    where TSet : class, ISet<Element>, new()
{
    protected TSet Set { get; private set; } = new();

    protected override int Count => Set.Count;

    protected abstract bool TryGetValue(Element probe, out Element? element);

    protected override bool Add(int key)
    {
        var element = new Element(key);
        if (Set.Add(element))
            return true;
        Element.Delete(element);
        return false;
    }

    protected override bool Remove(int key)
    {
        var probe = new Element(key);
        bool found = TryGetValue(probe, out Element? element);
        Expect(Set.Remove(probe) == found, "Remove and TryGetValue disagree");
        Element.Delete(probe);
        if (!found)
            return false;
        Expect(element!.Is(key), "what was removed is another");
        Element.Delete(element);
        return true;
    }

    protected override bool Find(int key)
    {
        var probe = new Element(key);
        bool found = Set.Contains(probe);
        Element.Delete(probe);
        return found;
    }

    protected override IEnumerable<Element> All() => Set;

    protected override void MakeAnew()
    {
        Heap.Delete(Set);
        Set = new();
    }
}

internal sealed class HashSetModel(Random random) : SetModel<HashSet<Element>>(random)
{
    protected override bool TryGetValue(Element probe, out Element? element) => Set.TryGetValue(probe, out element);
}

internal sealed class SortedSetModel(Random random) : SetModel<SortedSet<Element>>(random)
{
    protected override bool TryGetValue(Element probe, out Element? element) => Set.TryGetValue(probe, out element);
}

/// <summary>Keyed by reference: hash codes and equality are those of the objects themselves, wherever they move.</summary>
internal sealed class IdentityModel(Random random) : TableModel(random)
{
    // The only way to find such a key again is to hold it. It is the element's name here, so that the elements are held by the table alone.
    private readonly string?[] _keys = new string?[400];
    private Dictionary<object, Element> _table = new(ReferenceEqualityComparer.Instance);

    protected override int Count => _table.Count;

    protected override bool Add(int key)
    {
        if (_keys[key] is { } there)
        {
            Expect(_table.ContainsKey(there), "the key is not found");
            return false;
        }
        var element = new Element(key);
        _table.Add(element.Name, element);
        _keys[key] = element.Name;
        return true;
    }

    protected override bool Remove(int key)
    {
        if (_keys[key] is not { } there)
            return false;
        _keys[key] = null;
        Expect(_table.Remove(there, out Element? element) && element.Is(key), "what was removed is another");
        Element.Delete(element!);
        return true;
    }

    protected override bool Find(int key)
    {
        // An equal key that is another object.
        string stranger = Element.NameOf(key);
        Expect(!_table.ContainsKey(stranger), "a stranger is found");
        Heap.Delete(stranger);
        if (_keys[key] is not { } there)
            return false;
        Expect(_table.TryGetValue(there, out Element? element) && ReferenceEquals(element.Name, there), "what was found is another");
        Expect(RuntimeHelpers.GetHashCode(element!.Name) == RuntimeHelpers.GetHashCode(there), "two hash codes");
        return true;
    }

    protected override IEnumerable<Element> All() => _table.Values;

    protected override void MakeAnew()
    {
        Heap.Delete(_table);
        _table = new(ReferenceEqualityComparer.Instance);
    }
}

/// <summary>A table that all threads read. Each writes its own keys only, and deletes what it replaces while others may be reading it.</summary>
internal sealed class SharedTable(int threads)
{
    public const int KeysOfThread = 100;

    public int Threads => threads;

    public ConcurrentDictionary<int, Element> Table { get; } = new();
}

internal sealed class SharedTableModel(Random random, SharedTable shared, int thread) : CollectionModel(random)
{
    private const int Versions = 1_000;

    // The version of each key of this thread; 0: it is not there.
    private readonly int[] _versions = new int[SharedTable.KeysOfThread];
    private int _next = 1;

    public override void Step()
    {
        int own = Random.Next(SharedTable.KeysOfThread), key = thread * SharedTable.KeysOfThread + own;
        switch (Random.Next(4))
        {
            case 0:
                _next = _next % (Versions - 1) + 1;
                shared.Table.TryGetValue(key, out Element? before);
                Expect(before is null ? _versions[own] == 0 : before.Is(key * Versions + _versions[own]), "an own element is another");
                shared.Table[key] = new Element(key * Versions + _next);
                _versions[own] = _next;
                if (before is not null)
                    Element.Delete(before);
                break;
            case 1:
                bool removed = shared.Table.TryRemove(key, out Element? element);
                Expect(removed == (_versions[own] != 0), "there was none, or was one");
                if (removed)
                {
                    Expect(element!.Is(key * Versions + _versions[own]), "what was removed is another");
                    Element.Delete(element);
                }
                _versions[own] = 0;
                break;
            default:
                int other = Random.Next(shared.Threads * SharedTable.KeysOfThread);
                try
                {
                    if (shared.Table.TryGetValue(other, out Element? found))
                        Expect(found.Is(found.Number) && found.Number / Versions == other, "another thread's element is another");
                }
                catch (DanglingReferenceException) when (other / SharedTable.KeysOfThread != thread)
                {
                }
                break;
        }
    }

    public override void Check()
    {
        for (int own = 0; own < _versions.Length; own++)
        {
            int key = thread * SharedTable.KeysOfThread + own;
            bool found = shared.Table.TryGetValue(key, out Element? element);
            Expect(found ? element!.Is(key * Versions + _versions[own]) : _versions[own] == 0, "an own element is another");
        }
    }

    public override void Renew()
    {
        for (int own = 0; own < _versions.Length; own++)
        {
            if (shared.Table.TryRemove(thread * SharedTable.KeysOfThread + own, out Element? element))
                Element.Delete(element);
            _versions[own] = 0;
        }
    }
}
