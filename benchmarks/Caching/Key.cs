namespace Freehold.Benchmarks.Caching;

/// <summary>MemoryCache takes objects as keys.</summary>
internal sealed class Key(int number) : IEquatable<Key>
{
    public int Number { get; } = number;

    public bool Equals(Key? other) => other is not null && other.Number == Number;

    public override bool Equals(object? obj) => Equals(obj as Key);

    public override int GetHashCode() => Number * -1640531527;
}
