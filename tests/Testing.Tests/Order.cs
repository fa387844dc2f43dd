namespace Freehold.Testing.Tests;

/// <summary>What the tests allocate.</summary>
internal sealed class Order(int number)
{
    /// <summary>What a cache that forgets nothing holds.</summary>
    public static readonly List<Order> Kept = new(1000);

    public int Number { get; set; } = number;
}
