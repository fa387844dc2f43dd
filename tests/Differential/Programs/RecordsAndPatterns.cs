namespace Freehold.Differential.Programs;

/// <summary>Records, with-expressions, structural equality and every kind of pattern.</summary>
internal static partial class RecordsAndPatterns
{
    private abstract record Expression;

    private sealed record Number(double Value) : Expression;

    private sealed record Variable(string Name) : Expression;

    private sealed record Binary(char Operator, Expression Left, Expression Right) : Expression;

    private sealed record Call(string Function, params Expression[] Arguments) : Expression;

    private readonly record struct Point(int X, int Y);

    private static Expression Simplify(Expression expression) => expression switch
    {
        Binary('+', Number(0), var right) => Simplify(right),
        Binary('+', var left, Number(0)) => Simplify(left),
        Binary('*', Number(0), _) or Binary('*', _, Number(0)) => new Number(0),
        Binary('*', Number(1), var right) => Simplify(right),
        Binary(var op, Number(var a), Number(var b)) => new Number(op switch { '+' => a + b, '-' => a - b, '*' => a * b, _ => throw new NotSupportedException() }),
        Binary binary when Simplify(binary.Left) is var left && Simplify(binary.Right) is var right && (left != binary.Left || right != binary.Right) => Simplify(binary with { Left = left, Right = right }),
        Call { Function: "id", Arguments: [var only] } => Simplify(only),
        Call { Arguments.Length: > 2 } call => call with { Function = "many" },
        _ => expression,
    };

    private static Expression Make(Random random, int depth) => (depth, random.Next(5)) switch
    {
        (0, < 3) => new Number(random.Next(4)),
        (0, _) => new Variable("v" + random.Next(3)),
        (_, 4) => new Call("id", Make(random, depth - 1)),
        (_, var kind) => new Binary("+*-+"[kind], Make(random, depth - 1), Make(random, depth - 1)),
    };

    private static string Classify(object? value) => value switch
    {
        null => "null",
        int and (< 0 or > 1_000) => "outside",
        int n and >= 0 => "int" + n % 10,
        string { Length: 0 } => "empty",
        string and ['a', .., var last] => "a..." + last,
        string text => text[..1],
        Point { X: 0 } => "axis",
        Point(var x, var y) when x == y => "diagonal",
        int[] and [1, .. var middle, 9] => "one-nine " + middle.Length,
        IEnumerable<int> => "ints",
        (int a, string b) => a + b,
        not null => "other",
    };

    public static void Run()
    {
        var random = new Random(17);
        var sum = new Checksum();
        var seen = new HashSet<Expression>();
        for (int i = 0; i < 1_500; i++)
        {
            Expression simple = Simplify(Make(random, 6));
            seen.Add(simple);
            sum.Add(simple.ToString());
        }
        Console.WriteLine(seen.Count + " " + sum);
        foreach (object? value in new object?[] { null, -4, 5, 2_000, "", "abc", "xyz", new Point(0, 4), new Point(2, 2), new Point(1, 2), new[] { 1, 5, 5, 9 }, new List<int>(), (3, "t"), 4.5 })
            Console.Write(Classify(value) + "; ");
        Console.WriteLine();
        var one = new Binary('+', new Number(1), new Variable("x"));
        Binary two = one with { };
        Console.WriteLine((one == two) + " " + ReferenceEquals(one, two) + " " + (one.GetHashCode() == two.GetHashCode()) + " " + one);
        Console.WriteLine(new Point(1, 2) == new Point(1, 2) with { X = 1 });
    }
}
