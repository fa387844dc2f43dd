using System.Runtime.CompilerServices;

namespace Freehold.Collections.Tests;

/// <summary>Three bytes: no power of two.</summary>
internal record struct Triple(byte A, byte B, byte C) : IComparable<Triple>
{
    public static Triple Of(int number) => new((byte)number, (byte)(number >> 8), (byte)(number >> 16));

    public readonly int CompareTo(Triple other) => (A | (B << 8) | (C << 16)).CompareTo(other.A | (other.B << 8) | (other.C << 16));
}

/// <summary>A value with references inside.</summary>
internal record struct Named(string? Name, int Number) : IComparable<Named>
{
    public static Named Of(int number) => new("n" + number, number);

    public readonly int CompareTo(Named other) => Number.CompareTo(other.Number);
}

/// <summary>Large: a leaf has four.</summary>
internal struct Large : IComparable<Large>, IEquatable<Large>
{
    private Numbers _numbers;

    public static Large Of(int number)
    {
        var large = default(Large);
        for (int i = 0; i < Numbers.Length; i++)
        {
            large._numbers[i] = number + i;
        }

        return large;
    }

    // By the last one, which tells a default from the number 0: two that compare as equal are equal.
    public int CompareTo(Large other) => _numbers[Numbers.Length - 1].CompareTo(other._numbers[Numbers.Length - 1]);

    public bool Equals(Large other) => ((ReadOnlySpan<int>)_numbers).SequenceEqual(other._numbers);

    public override bool Equals(object? other) => other is Large large && Equals(large);

    public override int GetHashCode() => _numbers[0];

    [InlineArray(Length)]
    private struct Numbers
    {
        internal const int Length = 2000;
        private int _first;
    }
}

/// <summary>Larger than half a leaf: each has one of its own.</summary>
[InlineArray(20_000)]
internal struct Alone
{
    private byte _first;
}

/// <summary>As large as a leaf can be.</summary>
[InlineArray(32_744)]
internal struct Largest
{
    private byte _first;
}

/// <summary>A byte too large.</summary>
[InlineArray(32_745)]
internal struct TooLarge
{
    private byte _first;
}
