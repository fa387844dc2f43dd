using System.Numerics;

namespace Freehold.Differential.Programs;

/// <summary>Generic mathematics through static abstract members.</summary>
internal static partial class StaticAbstracts
{
    private interface IMonoid<TSelf>
        where TSelf : IMonoid<TSelf>
    {
        static abstract TSelf Zero { get; }

        static abstract TSelf operator +(TSelf left, TSelf right);

        static virtual string Label => typeof(TSelf).Name;
    }

    private readonly record struct Count(int Value) : IMonoid<Count>
    {
        public static Count Zero => new(0);

        public static Count operator +(Count left, Count right) => new(left.Value + right.Value);
    }

    private sealed record Text(string Value) : IMonoid<Text>
    {
        public static Text Zero => new("");

        public static string Label => "text!";

        public static Text operator +(Text left, Text right) => new(left.Value + right.Value);
    }

    private static T Fold<T>(IEnumerable<T> values)
        where T : IMonoid<T>
    {
        T total = T.Zero;
        foreach (T value in values)
            total += value;
        return total;
    }

    private static T Polynomial<T>(ReadOnlySpan<T> coefficients, T x)
        where T : INumber<T>
    {
        T result = T.Zero;
        foreach (T coefficient in coefficients)
            result = result * x + coefficient;
        return result;
    }

    private static string Describe<T>()
        where T : IMonoid<T> => T.Label;

    public static void Run()
    {
        Console.WriteLine(Fold(Enumerable.Range(0, 20_000).Select(i => new Count(i))));
        Console.WriteLine(Fold(Enumerable.Range(0, 1_500).Select(i => new Text("t" + i))).Value.Length);
        Console.WriteLine(Describe<Count>() + " " + Describe<Text>());
        Console.WriteLine(Polynomial<int>([1, 2, 3, 4], 5) + " " + Polynomial<double>([1, 2, 3, 4], 0.5) + " " + Polynomial<decimal>([1, 2, 3], 1.1m) + " " + Polynomial<BigInteger>([1, 2, 3, 4, 5], 1_000_000_007));
        Console.WriteLine(Sum<byte, ulong>(Enumerable.Range(0, 50_000).Select(i => (byte)i)) + " " + Sum<Half, double>([(Half)1.5, (Half)2.25]));
        Console.WriteLine(Parse<int>("12 -7 900") + " " + Parse<double>("1.5 2.5") + " " + Parse<DateOnly>("2024-02-29"));
    }

    private static TResult Sum<T, TResult>(IEnumerable<T> values)
        where T : INumber<T>
        where TResult : INumber<TResult>
    {
        TResult total = TResult.Zero;
        foreach (T value in values)
            total += TResult.CreateChecked(value);
        return total;
    }

    private static string Parse<T>(string text)
        where T : IParsable<T> => string.Join('|', text.Split(' ').Select(part => T.Parse(part, null)));
}
