namespace Freehold.Contract;

/// <summary>What the modelled collections hold: a number, told three times, and a name that is an object of its own.</summary>
internal sealed class Element(int number) : IComparable<Element>, IEquatable<Element>
{
    private readonly int _check = ~number;

    public int Number { get; } = number;

    public string Name { get; } = NameOf(number);

    public static string NameOf(int number) => "n" + number;

    public bool Is(int number) => Number == number && _check == ~number && Name[0] == 'n' && int.Parse(Name.AsSpan(1)) == number;

    /// <summary>Ends the life of an element that its collection has just given up.</summary>
    public static void Delete(Element element)
    {
        Heap.Delete(element.Name);
        Heap.Delete(element);
    }

    public int CompareTo(Element? other) => other is null ? 1 : Number.CompareTo(other.Number);

    public bool Equals(Element? other) => other is not null && Number == other.Number;

    public override bool Equals(object? other) => Equals(other as Element);

    public override int GetHashCode() => Number * 31;
}

/// <summary>
/// One of the framework's collections beside numbers that say what it must hold. The numbers are the whole model: nothing of it refers to an object, and
/// what is removed is deleted at once. No element that the collection still holds is ever deleted, so a dangling reference is a failure.
/// </summary>
internal abstract class CollectionModel(Random random)
{
    protected Random Random => random;

    /// <summary>One random operation, compared with the model.</summary>
    public abstract void Step();

    /// <summary>Compares everything.</summary>
    public abstract void Check();

    /// <summary>Deletes all elements and the collection, and begins anew.</summary>
    public abstract void Renew();

    protected void Expect(bool condition, string what)
    {
        if (!condition)
            throw new ContractException(GetType().Name + ": " + what);
    }
}

/// <summary>One thread's collections.</summary>
internal sealed class CollectionModels(int seed, int thread, SharedTable shared)
{
    private readonly Random _random = new(seed);
    private CollectionModel[] _models = [];

    public int LastStep { get; private set; }

    public string LastModel { get; private set; } = "";

    public void Run(int steps)
    {
        _models =
        [
            new ListModel(_random), new QueueModel(_random), new StackModel(_random), new LinkedListModel(_random), new PriorityQueueModel(_random),
            new StringBuilderModel(_random), new DictionaryModel(_random), new SortedDictionaryModel(_random), new HashSetModel(_random),
            new SortedSetModel(_random), new IdentityModel(_random), new SharedTableModel(_random, shared, thread), new TreeListModel(_random),
        ];
        for (int step = 0; step < steps; step++)
        {
            LastStep = step;
            CollectionModel model = _models[_random.Next(_models.Length)];
            LastModel = model.GetType().Name;
            int draw = _random.Next(1_000);
            if (draw == 0)
                model.Renew();
            else if (draw < 10)
                model.Check();
            else
                model.Step();
            if (step % 5_000 == 4_999)
                GC.Collect();
        }
        foreach (CollectionModel model in _models)
        {
            LastModel = model.GetType().Name;
            model.Check();
            model.Renew();
        }
    }
}
