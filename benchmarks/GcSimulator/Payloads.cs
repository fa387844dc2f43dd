using System.Runtime.CompilerServices;

namespace Freehold.Benchmarks;

/// <summary>What an object carries. Static, so that each size has its own code.</summary>
internal interface IPayload<TSelf>
    where TSelf : struct, IPayload<TSelf>
{
    /// <summary>Sets the first and the last word.</summary>
    static abstract void Set(ref TSelf payload, long stamp);

    /// <summary>The stamp, or an exception when the words do not agree.</summary>
    static abstract long Stamp(ref TSelf payload);
}

[InlineArray(2)]
internal struct Payload16 : IPayload<Payload16>
{
    private long _first;

    public static void Set(ref Payload16 payload, long stamp) => Words.Set(payload, stamp);

    public static long Stamp(ref Payload16 payload) => Words.Stamp(payload);
}

[InlineArray(8)]
internal struct Payload64 : IPayload<Payload64>
{
    private long _first;

    public static void Set(ref Payload64 payload, long stamp) => Words.Set(payload, stamp);

    public static long Stamp(ref Payload64 payload) => Words.Stamp(payload);
}

[InlineArray(32)]
internal struct Payload256 : IPayload<Payload256>
{
    private long _first;

    public static void Set(ref Payload256 payload, long stamp) => Words.Set(payload, stamp);

    public static long Stamp(ref Payload256 payload) => Words.Stamp(payload);
}

internal static class Words
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Set(Span<long> words, long stamp)
    {
        words[0] = stamp;
        words[^1] = ~stamp;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static long Stamp(Span<long> words)
    {
        if (words[^1] != ~words[0])
        {
            ThrowDamaged();
        }

        return words[0];
    }

    private static void ThrowDamaged() => throw new InvalidOperationException("An object does not hold what was written.");
}
