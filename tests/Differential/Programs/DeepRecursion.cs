namespace Freehold.Differential.Programs;

/// <summary>Deep recursion: Ackermann, permutations, parsers, and a stack of sixteen megabytes.</summary>
internal static partial class DeepRecursion
{
    private static int Ackermann(int m, int n) => m == 0 ? n + 1 : n == 0 ? Ackermann(m - 1, 1) : Ackermann(m - 1, Ackermann(m, n - 1));

    private static int Depth(int depth, string text)
    {
        Span<int> local = stackalloc int[8];
        local[depth % 8] = depth;
        if (depth == 0)
            return text.Length;
        return Depth(depth - 1, depth % 1_000 == 0 ? text + "x" : text) + local[depth % 8] - depth;
    }

    private static void Permute(char[] items, int from, HashSet<string> seen)
    {
        if (from == items.Length)
            seen.Add(new string(items));
        for (int i = from; i < items.Length; i++)
        {
            (items[from], items[i]) = (items[i], items[from]);
            Permute(items, from + 1, seen);
            (items[from], items[i]) = (items[i], items[from]);
        }
    }

    private static long Evaluate(ReadOnlySpan<char> text, ref int at)
    {
        long total = Term(text, ref at);
        while (at < text.Length && text[at] is '+' or '-')
            total += text[at++] == '+' ? Term(text, ref at) : -Term(text, ref at);
        return total;
    }

    private static long Term(ReadOnlySpan<char> text, ref int at)
    {
        if (text[at] == '(')
        {
            at++;
            long inner = Evaluate(text, ref at);
            at++;
            return inner;
        }
        long value = 0;
        while (at < text.Length && char.IsAsciiDigit(text[at]))
            value = value * 10 + text[at++] - '0';
        return value;
    }

    public static void Run()
    {
        Console.WriteLine(Ackermann(2, 900) + " " + Ackermann(3, 6));
        int result = 0;
        var thread = new Thread(() => result = Depth(60_000, "start"), 16 << 20);
        thread.Start();
        thread.Join();
        Console.WriteLine(result);
        var seen = new HashSet<string>();
        Permute("freehol".ToCharArray(), 0, seen);
        Console.WriteLine(seen.Count + " " + seen.Min(StringComparer.Ordinal));
        string expression = string.Concat(Enumerable.Repeat("(1+", 3_000)) + "7" + string.Concat(Enumerable.Repeat("-2)", 3_000));
        int at = 0;
        Console.WriteLine(Evaluate(expression, ref at) + " " + (at == expression.Length));
        Func<int, long>? fibonacci = null;
        var known = new Dictionary<int, long>();
        fibonacci = n => n < 2 ? n : known.TryGetValue(n, out long value) ? value : known[n] = fibonacci!(n - 1) + fibonacci(n - 2);
        Console.WriteLine(fibonacci(90));
    }
}
