using System.Runtime.CompilerServices;

namespace Freehold.Diagnostics;

/// <summary>A profile of many rows, which is written when the heap is nearly full: the program sees no difference.</summary>
internal static class ManyDeaths
{
    private const int Depth = 14;  // each way down is a stack of its own
    private const int Size = 128 << 10;
    private const int Room = 6 << 20;  // for what is written, and what the handler leaves

    private static readonly ManualResetEventSlim s_isRoom = new(), s_isHandled = new();
    private static int s_handled;

    public static void Run()
    {
        for (int way = 0; way < 1 << Depth; way++)
        {
            Left(way, Depth);
        }

        Heap.MemoryPressure += Handle;
        List<byte[]?> held = Fill();
        for (int i = 0; i < Room / Size; i++)
        {
            held[i] = null;
        }

        Heap.Reclaim();
        s_isRoom.Set();
        Expect.True(s_isHandled.Wait(TimeSpan.FromSeconds(60)), "the handler");
        Heap.Reclaim();  // a look, which learns what the handler has left
        Kept.All = held;
    }

    // The thread of events has written profiles before: what this allocates is the program's all the same.
    private static void Handle(object? sender, MemoryPressureEventArgs arguments)
    {
        if (Interlocked.Exchange(ref s_handled, 1) != 0)
        {
            return;
        }

        try
        {
            s_isRoom.Wait();
            for (int i = 0; i < 64; i++)
            {
                GC.KeepAlive(new Noticed());
            }
        }
        finally
        {
            s_isHandled.Set();
        }
    }

    private static List<byte[]?> Fill()
    {
        var held = new List<byte[]?>(4096);
        while (true)
        {
            try
            {
                held.Add(new byte[Size]);
            }
            catch (OutOfMemoryException)
            {
                return held;
            }
        }
    }

    // One frame for each turn: a stack has 16.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Left(int way, int depth)
    {
        if (depth == 0)
        {
            return Make().Length;
        }

        return (way >> (depth - 1) & 1) == 0 ? Left(way, depth - 1) + 1 : Right(way, depth - 1) + 2;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Right(int way, int depth)
    {
        if (depth == 0)
        {
            return Make().Length;
        }

        return (way >> (depth - 1) & 1) == 0 ? Left(way, depth - 1) + 3 : Right(way, depth - 1) + 4;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static byte[] Make() => new byte[Size];

    private static class Kept
    {
        public static object? All { get; set; }
    }

#pragma warning disable CS0169 // never used: it is there for its size, so that samples meet its objects

    private sealed class Noticed
    {
        private Large _large;
    }

    [InlineArray(8_000)]
    private struct Large
    {
        private long _first;
    }
}
