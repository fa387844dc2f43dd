using System.Runtime.CompilerServices;

namespace Freehold.Benchmarks;

/// <summary>An object with a stamp that says which allocation it was; together with its header, 24 bytes.</summary>
internal class Item(long stamp)
{
    public readonly long Stamp = stamp;
}

/// <summary>Makes and checks objects of one size. Static, so that each size has its own code, without calls.</summary>
internal interface IItemKind
{
    /// <summary>Bytes of one object in the heap, header included.</summary>
    static abstract int Size { get; }

    /// <summary>A new object, its first and last field set.</summary>
    static abstract Item Create(long stamp);

    /// <summary>Whether first and last field are still what <see cref="Create"/> set.</summary>
    static abstract bool IsIntact(Item item, long stamp);
}

internal readonly struct Kind24 : IItemKind
{
    public static int Size => 24;

    public static Item Create(long stamp) => new(stamp);

    public static bool IsIntact(Item item, long stamp) => item.Stamp == stamp;
}

internal readonly struct Kind64 : IItemKind
{
    public static int Size => 64;

    public static Item Create(long stamp) => new Item64(stamp);

    public static bool IsIntact(Item item, long stamp) =>
        item.Stamp == stamp && Unsafe.As<Item64>(item).Rest[^1] == ~stamp;

    private sealed class Item64 : Item
    {
        public Words5 Rest;

        public Item64(long stamp)
            : base(stamp) => Rest[^1] = ~stamp;
    }

    [InlineArray(5)]
    private struct Words5
    {
        private long _first;
    }
}

internal readonly struct Kind256 : IItemKind
{
    public static int Size => 256;

    public static Item Create(long stamp) => new Item256(stamp);

    public static bool IsIntact(Item item, long stamp) =>
        item.Stamp == stamp && Unsafe.As<Item256>(item).Rest[^1] == ~stamp;

    private sealed class Item256 : Item
    {
        public Words29 Rest;

        public Item256(long stamp)
            : base(stamp) => Rest[^1] = ~stamp;
    }

    [InlineArray(29)]
    private struct Words29
    {
        private long _first;
    }
}

internal readonly struct Kind1000 : IItemKind
{
    public static int Size => 1000;

    public static Item Create(long stamp) => new Item1000(stamp);

    public static bool IsIntact(Item item, long stamp) =>
        item.Stamp == stamp && Unsafe.As<Item1000>(item).Rest[^1] == ~stamp;

    private sealed class Item1000 : Item
    {
        public Words122 Rest;

        public Item1000(long stamp)
            : base(stamp) => Rest[^1] = ~stamp;
    }

    [InlineArray(122)]
    private struct Words122
    {
        private long _first;
    }
}
