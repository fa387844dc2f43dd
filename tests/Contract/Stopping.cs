using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>
/// Nobody waits for a large copy: whoever stops the threads gets them in the middle of it. Counted in stops, not measured in time: without a safe point in
/// it, no stop begins and ends within one copy, however busy the machine is.
/// </summary>
internal static class Stopping
{
    private const int Bytes = 256 << 20;
    private const int Wanted = 12;

    public static IEnumerable<Case> All()
    {
        yield return new("stops-within-copies", _ => Copies());
        yield return new("stops-within-overlapping-copies", _ => StopsWithin(Of<byte>(Bytes), array => Array.Copy(array, 0, array, 100_000, array.Length - 100_000)));
        yield return new("stops-within-copies-of-references", _ => StopsWithin(Of<object>(Bytes / 8), array => Array.Copy(array, 0, array, 1, array.Length - 1)));
        yield return new("stops-within-clearing", _ => StopsWithin(Of<byte>(Bytes), Array.Clear));
        yield return new("stops-within-clearing-of-references", _ => StopsWithin(Of<object>(Bytes / 8), Array.Clear));
        yield return new("stops-within-fills", _ => StopsWithin(Of<byte>(Bytes), array => Array.Fill(array, (byte)7)));
        yield return new("stops-within-comparisons", _ => Comparisons());
        yield return new("stops-within-clones", _ => StopsWithin(Of<byte>(Bytes), array => Heap.Delete(array.Clone())));
        yield return new("stops-name-who-held-them-up", _ => Named());
        yield return new("stops-beside-deletions", _ => BesideDeletions(60));
        yield return new("debug-stops-beside-deletions", _ => BesideDeletions(4));
        yield return new("moves-in-pieces", _ => Pieces());
    }

    private static T[] Of<T>(int count) => new T[count];

    private static void Copies()
    {
        byte[] target = Of<byte>(Bytes);
        StopsWithin(Of<byte>(Bytes), array => Buffer.BlockCopy(array, 0, target, 0, array.Length));
        Heap.Delete(target);
    }

    private static void Comparisons()
    {
        byte[] other = Of<byte>(Bytes);
        StopsWithin(Of<byte>(Bytes), array => Expect.True(array.AsSpan().SequenceEqual(other) && array.AsSpan().IndexOf((byte)1) < 0));
        Heap.Delete(other);
    }

    /// <summary>A thread does the work again and again, while this one stops the threads until enough stops began and ended within one piece of work.</summary>
    private static void StopsWithin<T>(T[] array, Action<T[]> work)
    {
        long state = 0;  // odd while the work is under way
        bool end = false;
        var worker = new Thread(() =>
        {
            while (!Volatile.Read(ref end))
            {
                Interlocked.Increment(ref state);
                work(array);
                Interlocked.Increment(ref state);
            }
        });
        worker.Start();
        int within = 0;
        long before = Heap.GetStatistics().Stops;
        // So many rounds of work are enough for many times as many stops.
        while (within < Wanted && Volatile.Read(ref state) < 400)
        {
            long seen = Volatile.Read(ref state);
            Heap.FindUnreachable();
            if (seen % 2 != 0 && seen == Volatile.Read(ref state))
                within++;
        }

        Volatile.Write(ref end, true);
        worker.Join();
        Expect.True(Heap.GetStatistics().Stops > before, "the threads were stopped");
        Expect.True(within >= Wanted, $"{within} stops within {Volatile.Read(ref state) / 2} rounds of work");
        Heap.Delete(array);
    }

    /// <summary>
    /// Threads that do nothing but allocate and delete are nearly always in native code that has no safe point. A stop gets them all the same, before they have deleted much: they count that themselves.
    /// </summary>
    private static void BesideDeletions(int atMost)
    {
        const int Rounds = 41, Threads = 2;
        int[] stood = new int[Threads];  // the round of the last stop in which a thread stood
        int[,] counts = new int[Threads, Rounds + 1];
        int asked = 0;
        long stops = 0;
        bool end = false;
        Thread[] load = [.. Enumerable.Range(0, Threads).Select(i => new Thread(() =>
        {
            object[] kept = new object[500];
            for (int at = 0; !Volatile.Read(ref end); at = (at + 1) % kept.Length)
            {
                Heap.Delete(kept[at]);
                kept[at] = new byte[100 + (at * 7)];
                int round = Volatile.Read(ref asked);
                if (round == stood[i])
                    continue;
                counts[i, round]++;
                if (Heap.GetStatistics().Stops > Volatile.Read(ref stops))
                    Volatile.Write(ref stood[i], round);
            }
        }))];
        Array.ForEach(load, thread => thread.Start());
        for (int round = 1; round <= Rounds; round++)
        {
            Volatile.Write(ref stops, Heap.GetStatistics().Stops);
            Volatile.Write(ref asked, round);
            Heap.Verify();  // all its work is done in the stop
            Expect.Eventually(() => stood.All(last => last == round));
        }

        Volatile.Write(ref end, true);
        Array.ForEach(load, thread => thread.Join());
        List<int> deleted = [.. counts.Cast<int>().Where(count => count != 0).Order()];
        Expect.True(deleted.Count == Threads * Rounds);
        Expect.True(deleted[deleted.Count / 2] <= atMost, $"before they stood, the threads deleted {deleted[0]} to {deleted[^1]} objects, half of the times at least {deleted[deleted.Count / 2]}");
    }

    private static void Named()
    {
        int[] numbers = [1];
        bool end = false;
        var worker = new Thread(() => Spin(numbers, ref end)) { Name = "spinning" };
        worker.Start();
        Expect.Eventually(() => Volatile.Read(ref numbers[0]) > 1);  // it spins: the first stop has to wait for it
        // The first stop takes time, as any that is longer than all before it.
        while (Heap.GetStatistics().HeldUpBy.Length == 0)
            Heap.FindUnreachable();
        Volatile.Write(ref end, true);
        worker.Join();
        HeapStatistics statistics = Heap.GetStatistics();
        Expect.True(statistics.LongestTimeToStop > TimeSpan.Zero);
        Expect.True(statistics.HeldUpBy.Contains(" at "), statistics.HeldUpBy);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Spin(int[] numbers, ref bool end)
    {
        while (!Volatile.Read(ref end))
            numbers[0]++;
    }

    /// <summary>Moves and fills of all sizes around those of the pieces give what a loop gives, whichever way they overlap.</summary>
    private static unsafe void Pieces()
    {
        const int Piece = 65536, Room = 5 * Piece;
        byte[] expected = new byte[Room], actual = new byte[Room];
        object[] objects = [.. Enumerable.Range(0, Room / 8).Select(i => (object)i)];
        foreach (int size in new[] { Piece - 1, Piece, Piece + 1, 2 * Piece - 1, 2 * Piece, 2 * Piece + 1, 3 * Piece + 77 })
        {
            foreach (int shift in new[] { 0, 1, 8, 63, 64, 65, 4096, Piece - 1, Piece, Piece + 1, 100_000 })
            {
                foreach (bool up in new[] { true, false })
                {
                    int from = up ? 3 : shift + 3, to = up ? shift + 3 : 3;
                    for (int i = 0; i < Room; i++)
                        expected[i] = actual[i] = (byte)(i * 31 + (i >> 8) * 7 + (i >> 16));
                    byte[] moved = expected.AsSpan(from, size).ToArray();
                    for (int i = 0; i < size; i++)
                        expected[to + i] = moved[i];
                    actual.AsSpan(from, size).CopyTo(actual.AsSpan(to));
                    Expect.True(expected.AsSpan().SequenceEqual(actual), $"{size} bytes from {from} to {to}");
                    actual.AsSpan(to, size).Clear();
                    Expect.True(actual.AsSpan(to, size).IndexOfAnyExcept((byte)0) < 0 && actual[to - 1] == expected[to - 1] && actual[to + size] == expected[to + size], $"{size} bytes cleared at {to}");

                    int count = size / 8, fromIndex = from / 8, toIndex = to / 8;
                    object[] before = [.. objects];
                    Array.Copy(objects, fromIndex, objects, toIndex, count);
                    int wrong = 0;
                    for (int i = 0; i < objects.Length; i++)
                        wrong += objects[i] == before[i - toIndex is >= 0 and var n && n < count ? fromIndex + n : i] ? 0 : 1;
                    Expect.True(wrong == 0, $"{wrong} wrong of {count} references from {fromIndex} to {toIndex}");
                    Array.Copy(before, objects, before.Length);
                    Heap.Delete(moved);
                    Heap.Delete(before);
                }
            }
        }

        // Memory that is not the heap's goes the same way.
        byte* native = (byte*)NativeMemory.Alloc(Room);
        new Span<byte>(native, Room).Fill(9);
        Buffer.MemoryCopy(native, native + 70_000, Room - 70_000, 3 * Piece);
        NativeMemory.Clear(native, 2 * Piece + 5);
        Expect.True(new Span<byte>(native, 2 * Piece + 5).IndexOfAnyExcept((byte)0) < 0 && native[2 * Piece + 5] == 9);
        NativeMemory.Free(native);
    }
}
