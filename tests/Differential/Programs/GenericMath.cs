using System.Collections;
using System.Globalization;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>Static abstract members over numbers and references, generic virtual methods, variance, default members, and types that only exist at run time.</summary>
internal static partial class GenericMath
{
    private interface IShape<TSelf> where TSelf : IShape<TSelf>
    {
        static abstract TSelf Unit { get; }

        static abstract TSelf operator +(TSelf left, TSelf right);

        static virtual string Describe(TSelf self) => typeof(TSelf).Name + " " + self;
    }

    private sealed record Text(string Value) : IShape<Text>
    {
        public static Text Unit => new("u");

        public static Text operator +(Text left, Text right) => new(left.Value.Length > 200 ? right.Value : left.Value + right.Value);
    }

    private readonly record struct Wide(object First, long Second, string Third) : IShape<Wide>
    {
        public static Wide Unit => new("unit", 1, "w");

        public static Wide operator +(Wide left, Wide right) => new(right.First, left.Second + right.Second, left.Third.Length > 50 ? right.Third : left.Third + right.Third);

        static string IShape<Wide>.Describe(Wide self) => "wide " + self.Second;
    }

    private readonly struct Modular(int value) : INumberBase<Modular>
    {
        private const int Prime = 1_000_003;

        public int Value { get; } = ((value % Prime) + Prime) % Prime;

        public static Modular One => new(1);

        public static int Radix => 10;

        public static Modular Zero => default;

        public static Modular AdditiveIdentity => default;

        public static Modular MultiplicativeIdentity => One;

        public static Modular operator +(Modular left, Modular right) => new(left.Value + right.Value);

        public static Modular operator -(Modular left, Modular right) => new(left.Value - right.Value);

        public static Modular operator *(Modular left, Modular right) => new((int)((long)left.Value * right.Value % Prime));

        public static Modular operator /(Modular left, Modular right) => throw new NotSupportedException("division");

        public static Modular operator +(Modular value) => value;

        public static Modular operator -(Modular value) => new(-value.Value);

        public static Modular operator ++(Modular value) => value + One;

        public static Modular operator --(Modular value) => value - One;

        public static bool operator ==(Modular left, Modular right) => left.Value == right.Value;

        public static bool operator !=(Modular left, Modular right) => left.Value != right.Value;

        public static Modular Abs(Modular value) => value;

        public static bool IsCanonical(Modular value) => true;

        public static bool IsComplexNumber(Modular value) => false;

        public static bool IsEvenInteger(Modular value) => value.Value % 2 == 0;

        public static bool IsFinite(Modular value) => true;

        public static bool IsImaginaryNumber(Modular value) => false;

        public static bool IsInfinity(Modular value) => false;

        public static bool IsInteger(Modular value) => true;

        public static bool IsNaN(Modular value) => false;

        public static bool IsNegative(Modular value) => false;

        public static bool IsNegativeInfinity(Modular value) => false;

        public static bool IsNormal(Modular value) => true;

        public static bool IsOddInteger(Modular value) => value.Value % 2 == 1;

        public static bool IsPositive(Modular value) => true;

        public static bool IsPositiveInfinity(Modular value) => false;

        public static bool IsRealNumber(Modular value) => true;

        public static bool IsSubnormal(Modular value) => false;

        public static bool IsZero(Modular value) => value.Value == 0;

        public static Modular MaxMagnitude(Modular x, Modular y) => x.Value > y.Value ? x : y;

        public static Modular MaxMagnitudeNumber(Modular x, Modular y) => MaxMagnitude(x, y);

        public static Modular MinMagnitude(Modular x, Modular y) => x.Value < y.Value ? x : y;

        public static Modular MinMagnitudeNumber(Modular x, Modular y) => MinMagnitude(x, y);

        public static Modular Parse(ReadOnlySpan<char> s, NumberStyles style, IFormatProvider? provider) => new(int.Parse(s, style, provider));

        public static Modular Parse(string s, NumberStyles style, IFormatProvider? provider) => new(int.Parse(s, style, provider));

        public static Modular Parse(ReadOnlySpan<char> s, IFormatProvider? provider) => new(int.Parse(s, provider));

        public static Modular Parse(string s, IFormatProvider? provider) => new(int.Parse(s, provider));

        public static bool TryParse(ReadOnlySpan<char> s, NumberStyles style, IFormatProvider? provider, out Modular result) => TryParse(s, provider, out result);

        public static bool TryParse(string? s, NumberStyles style, IFormatProvider? provider, out Modular result) => TryParse(s, provider, out result);

        public static bool TryParse(string? s, IFormatProvider? provider, out Modular result) => TryParse(s.AsSpan(), provider, out result);

        public static bool TryParse(ReadOnlySpan<char> s, IFormatProvider? provider, out Modular result)
        {
            bool parsed = int.TryParse(s, provider, out int value);
            result = new Modular(value);
            return parsed;
        }

        static bool INumberBase<Modular>.TryConvertFromChecked<TOther>(TOther value, out Modular result)
        {
            result = new Modular(int.CreateChecked(value));
            return true;
        }

        static bool INumberBase<Modular>.TryConvertFromSaturating<TOther>(TOther value, out Modular result)
        {
            result = new Modular(int.CreateSaturating(value));
            return true;
        }

        static bool INumberBase<Modular>.TryConvertFromTruncating<TOther>(TOther value, out Modular result)
        {
            result = new Modular(int.CreateTruncating(value));
            return true;
        }

        static bool INumberBase<Modular>.TryConvertToChecked<TOther>(Modular value, out TOther result) => Convert(value, out result);

        static bool INumberBase<Modular>.TryConvertToSaturating<TOther>(Modular value, out TOther result) => Convert(value, out result);

        static bool INumberBase<Modular>.TryConvertToTruncating<TOther>(Modular value, out TOther result) => Convert(value, out result);

        private static bool Convert<TOther>(Modular value, out TOther result) where TOther : INumberBase<TOther>
        {
            result = TOther.CreateTruncating(value.Value);
            return true;
        }

        public bool Equals(Modular other) => this == other;

        public override bool Equals(object? obj) => obj is Modular other && this == other;

        public override int GetHashCode() => Value;

        public override string ToString() => Value.ToString();

        public string ToString(string? format, IFormatProvider? formatProvider) => Value.ToString(format, formatProvider);

        public bool TryFormat(Span<char> destination, out int charsWritten, ReadOnlySpan<char> format, IFormatProvider? provider) => Value.TryFormat(destination, out charsWritten, format, provider);
    }

    private abstract class Visitor
    {
        public abstract string Visit<T>(T value);

        public virtual IEnumerable<T> Repeat<T>(T value, int count)
        {
            for (int i = 0; i < count; i++)
                yield return value;
        }
    }

    private sealed class Naming : Visitor
    {
        public override string Visit<T>(T value) => typeof(T).Name + "=" + (value is IEnumerable<object> items ? string.Join('|', items) : value);

        public override IEnumerable<T> Repeat<T>(T value, int count) => base.Repeat(value, count).Concat([value]);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static T Sum<T>(IEnumerable<T> items) where T : IShape<T>
    {
        T sum = T.Unit;
        foreach (T item in items)
            sum += item;
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static T Polynomial<T>(ReadOnlySpan<T> coefficients, T at) where T : INumberBase<T>
    {
        T value = T.Zero;
        for (int i = coefficients.Length - 1; i >= 0; i--)
            value = (value * at) + coefficients[i];
        return value;
    }

    public static void Run()
    {
        for (int i = 0; i < 20; i++)
        {
            Text text = Sum(Enumerable.Range(0, 100).Select(n => new Text("t" + n)));
            Wide wide = Sum(Enumerable.Range(0, 200).Select(n => new Wide(new object(), n, "w" + n)));
            if (i % 5 == 0)
                Console.WriteLine(Describe(text) + " / " + Describe(wide) + " " + wide.Third);
            Manual.Delete(text);
        }
        Console.WriteLine(Polynomial<int>([1, 2, 3], 5) + " " + Polynomial<double>([0.5, 2, 3], 0.1) + " " + Polynomial<BigInteger>([1, 2, BigInteger.Pow(3, 90)], 7) + " " + Polynomial<Modular>([new(5), new(-7), new(900_000)], new(123_456)) + " " + Polynomial<Complex>([1, Complex.ImaginaryOne, 2], new(1, 1)) + " " + Polynomial<decimal>([1.5m, 2m], 3.25m) + " " + Polynomial<Half>([(Half)1, (Half)2], (Half)0.5));
        Console.WriteLine(int.CreateTruncating(new Modular(77)) + " " + Convert<Modular>(5_000_000L) + " " + Parse<Modular>("42") + Parse<double>("1.25") + Parse<UInt128>("340282366920938463463374607431768211455"));
        Visitor visitor = new Naming();
        var sum = new Checksum();
        for (int i = 0; i < 300; i++)
        {
            sum.Add(visitor.Visit(i) + visitor.Visit("text " + i) + visitor.Visit((i, "pair")) + visitor.Visit(new object[] { i, "o" }) + visitor.Visit(new List<string> { "s" + i }));
            sum.Add(visitor.Visit(visitor.Repeat("r" + i, 3)) + visitor.Repeat(i, 4).Sum() + visitor.Visit<IComparable>(i));
        }
        Console.WriteLine(sum);
        IEnumerable<object> variant = new List<string> { "co", "variant" };
        Func<object, IEnumerable<object>> function = new Func<object, List<string>>(value => [value.ToString()!, "contra"]);
        Action<string> action = new Action<object>(value => sum.Add(value.ToString()!));
        action("contra");
        Console.WriteLine(string.Join(',', variant) + " " + string.Join(',', function(5)) + " " + sum);
        IStructuralEquatable left = (1, new object[] { "x" }), right = (1, new object[] { "x" });
        Console.WriteLine(left.Equals(right, StructuralComparisons.StructuralEqualityComparer) + " " + left.Equals(right, EqualityComparer<object>.Default));
    }

    private static string Describe<T>(T self) where T : IShape<T> => T.Describe(self) is var text && text.Length > 60 ? text[..60] : T.Describe(self);

    private static T Convert<T>(long value) where T : INumberBase<T> => T.CreateChecked(value);

    private static T Parse<T>(string text) where T : IParsable<T> => T.Parse(text, CultureInfo.InvariantCulture);
}
