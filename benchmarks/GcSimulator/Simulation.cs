using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Freehold.Benchmarks;

/// <summary>One thread's part of the simulation: a tree of its own.</summary>
internal abstract class Simulation
{
    /// <summary>A value that depends on every object that ended and on all that are left: the same on every heap.</summary>
    public ulong Checksum { get; private protected set; }

    /// <summary>Objects made in the timed part.</summary>
    public long Objects { get; private protected set; }

    public double Seconds { get; private protected set; }

    public double BuildSeconds { get; private protected set; }

    public double LongestStall { get; private protected set; }

    public double LongestStallWithProcessor { get; private protected set; }

    public int Stalls { get; private protected set; }

    /// <summary>Builds the tree.</summary>
    public abstract void Build();

    /// <summary>The timed part.</summary>
    public abstract void Run();

    /// <summary>Visits what is left.</summary>
    public abstract void Finish();

    public static Simulation Create(int payload, int levels, int replacedLevels, int shortLivedPercent, double turnover, ulong seed) => payload switch
    {
        16 => new Simulation<Payload16>(levels, replacedLevels, shortLivedPercent, turnover, seed),
        64 => new Simulation<Payload64>(levels, replacedLevels, shortLivedPercent, turnover, seed),
        256 => new Simulation<Payload256>(levels, replacedLevels, shortLivedPercent, turnover, seed),
        _ => throw new FormatException($"--payload is 16, 64 or 256, not {payload}."),
    };
}

/// <summary>
/// A full binary tree whose lowest subtrees are replaced at random. Beside each object of the tree come short-lived ones, as many as the
/// percentage says, of which a small number is in flight: each takes the place of the oldest.
/// </summary>
internal sealed class Simulation<TPayload>(int levels, int replacedLevels, int shortLivedPercent, double turnover, ulong seed) : Simulation
    where TPayload : struct, IPayload<TPayload>
{
    private const int InFlight = 1024;

    private sealed class Node
    {
        public Node? Left, Right;
        public TPayload Payload;
    }

    // A reference in a struct: storing it needs no check of the array's type, on either heap.
    private struct Slot
    {
        public Node? Node;
    }

    private readonly Slot[] _ring = new Slot[InFlight];
    private Random64 _random = new(seed);
    private Node? _root;
    private int _next;
    private int _shortLivedOwed;
    private long _stamp;

    public override void Build()
    {
        var start = Stopwatch.GetTimestamp();
        _root = BuildTree(levels);
        BuildSeconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
    }

    public override void Run()
    {
        var perReplacement = (1 << replacedLevels) - 1;
        var replacements = (long)(((1L << levels) - 1) * turnover) / perReplacement;
        var before = _stamp;
        using var clock = new StallClock();
        var start = Stopwatch.GetTimestamp();
        clock.Start();
        for (long i = 0; i < replacements; i++)
        {
            Replace();
            clock.Lap();
        }

        Seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        Objects = _stamp - before;
        (LongestStall, LongestStallWithProcessor, Stalls) = (clock.Longest, clock.LongestWithProcessor, clock.Stalls);
    }

    public override void Finish()
    {
        Visit(_root!);
        foreach (ref var slot in _ring.AsSpan())
        {
            if (slot.Node is not null)
            {
                Visit(slot.Node);
            }
        }
    }

    private Node BuildTree(int height)
    {
        var node = Create();
        if (height > 1)
        {
            node.Left = BuildTree(height - 1);
            node.Right = BuildTree(height - 1);
        }

        return node;
    }

    private void Replace()
    {
        var path = _random.Next();
        var parent = _root!;
        for (var height = levels - 1; height > replacedLevels; height--)
        {
            parent = ((path & 1) == 0 ? parent.Left : parent.Right)!;
            path >>= 1;
        }

        ref var place = ref (path & 1) == 0 ? ref parent.Left : ref parent.Right;
        var old = place!;
        place = null;
        End(old);
        place = BuildSubtree(replacedLevels);
    }

    private Node BuildSubtree(int height)
    {
        var node = Create();
        _shortLivedOwed += shortLivedPercent;
        while (_shortLivedOwed >= 100 - shortLivedPercent)
        {
            _shortLivedOwed -= 100 - shortLivedPercent;
            ShortLived();
        }

        if (height > 1)
        {
            node.Left = BuildSubtree(height - 1);
            node.Right = BuildSubtree(height - 1);
        }

        return node;
    }

    private void ShortLived()
    {
        ref var slot = ref _ring[_next];
        _next = (_next + 1) % InFlight;
        if (slot.Node is { } old)
        {
            slot.Node = null;
            End(old);
        }

        slot.Node = Create();
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Node Create()
    {
        var node = new Node();
        TPayload.Set(ref node.Payload, _stamp++);
        return node;
    }

    /// <summary>Ends a subtree: deletes its objects, or leaves them to the collector.</summary>
    private void End(Node node)
    {
        if (node.Left is { } left)
        {
            End(left);
        }

        if (node.Right is { } right)
        {
            End(right);
        }

        Note(node);
        if (Heap.IsManual)
        {
            Heap.Delete(node);
        }
    }

    private void Visit(Node node)
    {
        Note(node);
        if (node.Left is not null)
        {
            Visit(node.Left);
            Visit(node.Right!);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private void Note(Node node) => Checksum = (Checksum * 31) + (ulong)TPayload.Stamp(ref node.Payload);
}
