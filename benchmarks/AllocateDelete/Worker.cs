using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Freehold.Benchmarks;

internal enum Order
{
    /// <summary>First in, first out: each new object takes the place of the oldest, as in a queue.</summary>
    Fifo,

    /// <summary>Last in, first out: objects pile up to the full number, and are deleted newest first down to none.</summary>
    Lifo,

    /// <summary>Each new object takes the place of a random one.</summary>
    Random,
}

/// <summary>
/// One thread's part: a number of allocate-and-delete pairs with so many objects in flight. The first quarter warms up and
/// is not timed.
/// </summary>
internal abstract class Worker
{
    /// <summary>A reference in a struct: storing it needs no check of the array's type, on either heap.</summary>
    private protected struct Slot
    {
        public Item? Item;
        public long Stamp;
    }

    public double Seconds { get; private protected set; }

    public long TimedPairs { get; private protected set; }

    public abstract void Run();

    /// <summary>Ends all objects that are left.</summary>
    public abstract void Clear();

    public static Worker Create(int size, int inFlight, Order order, long pairs) => size switch
    {
        24 => new Worker<Kind24>(inFlight, order, pairs),
        64 => new Worker<Kind64>(inFlight, order, pairs),
        256 => new Worker<Kind256>(inFlight, order, pairs),
        1000 => new Worker<Kind1000>(inFlight, order, pairs),
        _ => throw new FormatException($"--size is 24, 64, 256 or 1000, not {size}."),
    };
}

internal sealed class Worker<TKind> : Worker
    where TKind : struct, IItemKind
{
    private readonly Slot[] _slots;
    private readonly Order _order;
    private readonly long _pairs;

    public Worker(int inFlight, Order order, long pairs)
    {
        _slots = new Slot[inFlight];
        _slots.AsSpan().Fill(new Slot { Stamp = -1 });
        _order = order;
        _pairs = pairs;
    }

    public override void Run()
    {
        switch (_order)
        {
            case Order.Fifo:
                RunFifo();
                break;
            case Order.Lifo:
                RunLifo();
                break;
            case Order.Random:
                RunRandom();
                break;
        }
    }

    public override void Clear()
    {
        foreach (ref var slot in _slots.AsSpan())
        {
            if (slot.Item is not null)
            {
                End(ref slot);
            }
        }
    }

    private void RunFifo()
    {
        var slots = _slots;
        var pairs = _pairs;
        var warmUp = pairs / 4;
        var next = ReplaceInTurn(slots, 0, 0, warmUp);
        var start = Stopwatch.GetTimestamp();
        ReplaceInTurn(slots, next, warmUp, pairs);
        EndTiming(start, pairs - warmUp);
    }

    private void RunLifo()
    {
        var slots = _slots;
        var rounds = Math.Max(4, _pairs / slots.Length);
        var warmUp = rounds / 4;
        PileUpAndDown(slots, 0, warmUp);
        var start = Stopwatch.GetTimestamp();
        PileUpAndDown(slots, warmUp, rounds);
        EndTiming(start, (rounds - warmUp) * slots.Length);
    }

    private void RunRandom()
    {
        var slots = _slots;
        var pairs = _pairs;
        var warmUp = pairs / 4;
        var random = new Random64(2026);
        ReplaceAtRandom(slots, ref random, 0, warmUp);
        var start = Stopwatch.GetTimestamp();
        ReplaceAtRandom(slots, ref random, warmUp, pairs);
        EndTiming(start, pairs - warmUp);
    }

    // The measured loops. Methods of their own, so that what they need stays in registers.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReplaceInTurn(Slot[] slots, int next, long from, long to)
    {
        for (var i = from; i < to; i++)
        {
            Replace(ref slots[next], i);
            if (++next == slots.Length)
            {
                next = 0;
            }
        }

        return next;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void PileUpAndDown(Slot[] slots, long from, long to)
    {
        for (var round = from; round < to; round++)
        {
            for (var i = 0; i < slots.Length; i++)
            {
                Begin(ref slots[i], round + i);
            }

            for (var i = slots.Length - 1; i >= 0; i--)
            {
                End(ref slots[i]);
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ReplaceAtRandom(Slot[] slots, ref Random64 random, long from, long to)
    {
        for (var i = from; i < to; i++)
        {
            Replace(ref slots[random.Next(slots.Length)], i);
        }
    }

    private void EndTiming(long start, long pairs)
    {
        Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        TimedPairs = pairs;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Replace(ref Slot slot, long stamp)
    {
        if (slot.Item is not null)
        {
            End(ref slot);
        }

        Begin(ref slot, stamp);
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Begin(ref Slot slot, long stamp)
    {
        slot.Item = TKind.Create(stamp);
        slot.Stamp = stamp;
    }

    /// <summary>Checks an object and ends it: deletes it, or drops the reference for the collector.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void End(ref Slot slot)
    {
        var item = slot.Item!;
        if (!TKind.IsIntact(item, slot.Stamp))
        {
            ThrowDamaged();
        }

        slot.Item = null;
        if (Heap.IsManual)
        {
            Heap.Delete(item);
        }
    }

    private static void ThrowDamaged() => throw new InvalidOperationException("An object does not hold what was written.");
}
