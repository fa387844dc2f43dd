namespace Freehold.Differential.Programs;

/// <summary>Sorting with comparers, keys and items, stability of LINQ, failing comparers.</summary>
internal static partial class Sorting
{
    private sealed class Person(string name, int age) : IComparable<Person>
    {
        public string Name { get; } = name;

        public int Age { get; } = age;

        public int CompareTo(Person? other) => (Age, Name).CompareTo((other!.Age, other.Name));
    }

    private sealed class ByLength : IComparer<string>
    {
        public int Compare(string? left, string? right) => left!.Length != right!.Length ? left.Length - right.Length : string.CompareOrdinal(left, right);
    }

    public static void Run()
    {
        var random = new Random(18);
        string[] words = [.. Enumerable.Range(0, 15_000).Select(i => new string((char)('a' + random.Next(26)), random.Next(1, 9)) + random.Next(100))];
        string[] copy = [.. words];
        Array.Sort(copy, new ByLength());
        var sum = new Checksum();
        foreach (string word in copy)
            sum.Add(word);
        Person[] people = [.. words.Take(8_000).Select(word => new Person(word, random.Next(90)))];
        Array.Sort(people);
        foreach (Person person in people)
            sum.Add(person.Age + person.Name);
        Console.WriteLine(sum);
        int[] keys = [.. Enumerable.Range(0, 20_000).Select(_ => random.Next())];
        string[] items = [.. keys.Select(key => "i" + key)];
        Array.Sort(keys, items);
        Console.WriteLine(keys.Zip(items).All(pair => pair.Second == "i" + pair.First));
        var list = new List<double>(keys.Select(key => key / 3.0));
        list.Sort((left, right) => right.CompareTo(left));
        Console.WriteLine(list[0] > list[^1]);
        Console.WriteLine(people.OrderBy(person => person.Age / 10).ThenByDescending(person => person.Name, StringComparer.Ordinal).Select(person => person.Name).Take(8).Aggregate((a, b) => a + "," + b));
        Person[] stable = [.. people.OrderBy(person => person.Age % 2)];
        Console.WriteLine(stable.Take(people.Count(person => person.Age % 2 == 0)).SequenceEqual(people.Where(person => person.Age % 2 == 0)));
        try
        {
            Array.Sort(copy, (left, right) => throw new TimeoutException("comparer"));
        }
        catch (InvalidOperationException exception)
        {
            Console.WriteLine(exception.InnerException!.Message);
        }
        Console.WriteLine(copy.Length == words.Length && new HashSet<string>(copy).SetEquals(words));
        Span<int> span = keys;
        span.Sort(static (left, right) => (left % 1_000).CompareTo(right % 1_000));
        Console.WriteLine(span[0] % 1_000 <= span[^1] % 1_000);
        Console.WriteLine(string.Join(' ', Heapsort(keys[..30].Select(key => key % 100).ToArray())));
    }

    private static int[] Heapsort(int[] values)
    {
        var queue = new PriorityQueue<int, int>(values.Select(value => (value, value)));
        return [.. Enumerable.Range(0, values.Length).Select(_ => queue.Dequeue())];
    }
}
