using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>What C# 14 brought: extension members, field-backed properties, null-conditional assignment, compound operators of instances, partial constructors, spans without a cast.</summary>
internal static partial class ExtensionsAndFields
{
    internal sealed partial class Node
    {
        public partial Node(string name);

        public string Name { get => field ?? "none"; set => field = value is null ? null : value.Trim(); }

        public Node? Next { get; set; }

        public int Weight { get; set => field = Math.Max(value, 0); }
    }

    internal sealed partial class Node
    {
        public partial Node(string name) => Name = name;
    }

    private sealed class Tally
    {
        private readonly List<int> _values = [];

        public int Count => _values.Count;

        public int Sum => _values.Sum();

        public void operator +=(int value) => _values.Add(value);

        public void operator ++() => _values.Add(1);
    }

    private sealed class Secret(int value)
    {
        private readonly int _value = value;

        public override string ToString() => "secret " + _value;
    }

    private sealed class Shelf<T>
    {
        private readonly List<T> _items = [];

        private int Put(T item)
        {
            _items.Add(item);
            return _items.Count;
        }
    }

    // The parameter of the accessor is one of the type, as .NET 9 demands.
    private static class Access<T>
    {
        [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "Put")]
        public static extern int Put(Shelf<T> shelf, T item);

        [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_items")]
        public static extern ref List<T> Items(Shelf<T> shelf);
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_value")]
    private static extern ref int ValueOf(Secret secret);

    public static void Run()
    {
        Node first = new("  a "), second = new("b") { Weight = -5 };
        first.Next = second;
        Node? nothing = second.Next;
        first.Next?.Weight = 7;
        nothing?.Weight = Fail();
        first.Next?.Weight += 3;
        Console.WriteLine($"{first.Name} {first.Weight} {second.Weight} {first.Length} {first.IsLast} {second.IsLast}");
        first.Next?.Name = null!;
        Console.WriteLine(second.Name + " " + Node.Chain(2000).Length);

        var tally = new Tally();
        for (int i = 0; i < 500; i++)
            tally += i;
        tally++;
        Console.WriteLine($"{tally.Count} {tally.Sum}");

        int[] numbers = [.. Enumerable.Range(0, 1000)];
        Console.WriteLine(Total(numbers) + " " + numbers.Evens.Count() + " " + numbers.Middle);
        Func<string, int?> parse = TryParse;
        Console.WriteLine(parse("17") + " " + (parse("x") is null) + " " + nameof(List<>) + " " + nameof(Dictionary<,>));

        var shelf = new Shelf<string>();
        for (int i = 0; i < 300; i++)
            Access<string>.Put(shelf, "item " + i);
        Console.WriteLine(Access<string>.Items(shelf).Count + " " + Access<string>.Items(shelf)[^1]);
        var secret = new Secret(4);
        ValueOf(secret) = 5;
        Console.WriteLine(secret);

        // Objects that need not be on the heap.
        long sum = 0;
        for (int i = 0; i < 20_000; i++)
        {
            int[] pair = [i, i + 1];
            object box = i;
            var point = new Point(pair[0], pair[1]);
            sum += point.Length + (box is int value ? value : 0) + pair.Length;
        }
        Console.WriteLine(sum);
    }

    private sealed record Point(int X, int Y)
    {
        public int Length => X + Y;
    }

    [DoesNotReturn]
    private static int Fail() => throw new InvalidOperationException("evaluated");

    private static long Total(ReadOnlySpan<int> numbers)
    {
        long total = 0;
        foreach (int number in numbers)
            total += number;
        return total;
    }

    private delegate bool TryParseNumber(string text, out int number);

    private static int? TryParse(string text)
    {
        TryParseNumber parse = (text, out number) => int.TryParse(text, out number);
        return parse(text, out int value) ? value : null;
    }

    extension(Node node)
    {
        public bool IsLast => node.Next is null;

        public int Length => 1 + (node.Next?.Length ?? 0);

        public static Node Chain(int length)
        {
            var first = new Node("0");
            for (int i = 1; i < length; i++)
                first = new Node(i.ToString()) { Next = first };
            return first;
        }
    }

    extension(int[] numbers)
    {
        public IEnumerable<int> Evens => numbers.Where(number => number % 2 == 0);

        public int Middle => numbers[numbers.Length / 2];
    }
}
