namespace Freehold.Differential.Programs;

/// <summary>Generic virtual methods, variance, constraints and shared code.</summary>
internal static partial class Generics
{
    private interface IVisitor<in T>
    {
        string Visit<TExtra>(T value, TExtra extra);
    }

    private class TypeVisitor<T> : IVisitor<T>
    {
        public virtual string Visit<TExtra>(T value, TExtra extra) => typeof(T).Name + "-" + typeof(TExtra).Name + "-" + value + "-" + extra;
    }

    private sealed class ListVisitor<T> : TypeVisitor<List<T>>
    {
        public override string Visit<TExtra>(List<T> value, TExtra extra) => "list of " + value.Count + " " + typeof(T).Name + " " + base.Visit(value, extra).Length;
    }

    private struct Pair<TFirst, TSecond>(TFirst first, TSecond second) : IEquatable<Pair<TFirst, TSecond>>
        where TFirst : notnull
    {
        public TFirst First = first;
        public TSecond Second = second;

        public readonly bool Equals(Pair<TFirst, TSecond> other) => EqualityComparer<TFirst>.Default.Equals(First, other.First) && EqualityComparer<TSecond>.Default.Equals(Second, other.Second);

        public override readonly bool Equals(object? obj) => obj is Pair<TFirst, TSecond> other && Equals(other);

        public override readonly int GetHashCode() => EqualityComparer<TFirst>.Default.GetHashCode(First);
    }

    private class Node<T>(T value, Node<T>? next)
    {
        public T Value = value;
        public Node<T>? Next = next;
        public static int Created;

        public Node<TOut> Map<TOut>(Func<T, TOut> map)
        {
            Node<TOut>.Created++;
            return new Node<TOut>(map(Value), Next?.Map(map));
        }
    }

    public static void Run()
    {
        IVisitor<object> objects = new TypeVisitor<object>();
        IVisitor<string> strings = objects;
        IVisitor<List<int>> lists = new ListVisitor<int>();
        Console.WriteLine(strings.Visit("text", 5) + " " + objects.Visit(1.5, 'c') + " " + lists.Visit([1, 2], "x"));
        var sum = new Checksum();
        for (int i = 0; i < 30_000; i++)
        {
            sum.Add(strings.Visit("t" + i % 10, i % 2 == 0 ? (object)"o" : i));
            sum.Add(lists.Visit([i], (i, "p")));
        }
        Console.WriteLine(sum);
        Node<int>? chain = null;
        for (int i = 0; i < 500; i++)
            chain = new Node<int>(i, chain);
        Node<string> texts = chain!.Map(value => "n" + value);
        Node<(string, int)> pairs = texts.Map(value => (value, value.Length));
        long length = 0;
        for (Node<(string Text, int Length)>? node = pairs; node is not null; node = node.Next)
            length += node.Value.Length;
        Console.WriteLine($"{length} {Node<string>.Created} {Node<(string, int)>.Created} {Node<int>.Created}");
        var set = new HashSet<Pair<string, int>>();
        for (int i = 0; i < 5_000; i++)
            set.Add(new Pair<string, int>("k" + i % 50, i % 3));
        Console.WriteLine(set.Count + " " + set.Contains(new Pair<string, int>("k7", 1)));
        IEnumerable<object> covariant = new List<string> { "a", "b" };
        Func<object, string> general = value => value + "!";
        Func<string, object> special = general;
        Console.WriteLine(string.Concat(covariant) + special("s"));
        object[] array = new string[] { "x", "y" };
        try
        {
            array[0] = 5;
        }
        catch (ArrayTypeMismatchException)
        {
            Console.WriteLine("array store checked");
        }
        Console.WriteLine(Nest<int>(8));
    }

    private static string Nest<T>(int depth) => depth == 0 ? typeof(T).ToString().Length.ToString() : depth % 2 == 0 ? Nest<string>(depth - 1) : Nest<object>(depth - 1);
}
