using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Freehold.OneProcessTests;

/// <summary>
/// A stop of the managed threads, a stop of the handles and a pass of meshing at the same moment, in every order and at many distances, while other threads do all that these wait for.
/// docs/internals/stops.md says why they cannot wait for each other.
/// </summary>
internal static unsafe class Stops
{
    private const int Rounds = 120;
    private static readonly int[][] s_orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    private static readonly int[] s_distances = [0, 20, 100, 400, 1500];
    private static volatile bool s_ends;
    private static volatile Exception? s_failure;
    private static int s_round;

    internal static void Run(uint seed)
    {
        var random = new Random((int)seed);
        nint[] objects = [.. Enumerable.Range(0, 3000).Select(i => Objects.Make((nuint)(32 + i % 200), (uint)i))];
        var watchdog = new Thread(Watch) { IsBackground = true };
        watchdog.Start();
        Thread[] workers = [.. Enumerable.Range(0, 3).Select(i => Begin(() => Work(seed * 10 + (uint)i, objects)))];
        var spans = new (long Begin, long End)[3];
        int overlaps = 0;
        Action[] stops = [StopManaged, Objects.MoveEverything, () => MeshOnce(random.Next(16))];
        for (int round = 0; round < Rounds; round++)
        {
            Volatile.Write(ref s_round, round + 1);
            int[] order = s_orders[round % s_orders.Length];
            int[] distances = [0, s_distances[random.Next(s_distances.Length)], s_distances[random.Next(s_distances.Length)]];
            using var start = new Barrier(3);
            Thread[] threads = [.. Enumerable.Range(0, 3).Select(place => Begin(() =>
            {
                start.SignalAndWait();
                long from = Stopwatch.GetTimestamp(), delay = Stopwatch.Frequency / 1_000_000 * distances[..(place + 1)].Sum();
                while (Stopwatch.GetTimestamp() - from < delay) Thread.SpinWait(10);
                int which = order[place];
                spans[which].Begin = Stopwatch.GetTimestamp();
                stops[which]();
                spans[which].End = Stopwatch.GetTimestamp();
            }))];
            foreach (Thread thread in threads) thread.Join();
            if (spans.Max(span => span.Begin) < spans.Min(span => span.End)) overlaps++;
        }

        s_ends = true;
        foreach (Thread thread in workers) thread.Join();
        Expect.That(s_failure == null, s_failure?.ToString() ?? "");
        for (int i = 0; i < objects.Length; i++)
        {
            Expect.That(Objects.IsIntact(objects[i], (nuint)(32 + i % 200), (uint)i) == 1, $"object {i}");
            Objects.Free(objects[i]);
        }

        Heap.Verify();
        HeapStatistics figures = Heap.GetStatistics();
        Expect.That(figures.Handles.Stops >= Rounds && figures.Stops >= Rounds && figures.Native.MeshingPasses > 0, "not all kinds of stops were made");
        Console.Error.WriteLine($"seed {seed}: {overlaps} of {Rounds} rounds with all three at once; {figures.Stops} managed stops, {figures.Handles.Stops} of handles, {figures.Native.MeshingPasses} passes");
    }

    private static Thread Begin(Action work)
    {
        var thread = new Thread(() =>
        {
            try
            {
                work();
            }
            catch (Exception exception)
            {
                s_failure = exception;
            }
        });
        thread.Start();
        return thread;
    }

    // A round that takes so long waits for itself.
    private static void Watch()
    {
        int seen = -1;
        for (var time = Stopwatch.StartNew(); !s_ends; Thread.Sleep(200))
        {
            int round = Volatile.Read(ref s_round);
            if (round != seen) (seen, time) = (round, Stopwatch.StartNew());
            if (time.Elapsed > TimeSpan.FromMinutes(4)) Environment.FailFast($"round {round} of the stops does not end");
        }
    }

    private static void StopManaged() => Heap.FindUnreachable();

    private static void MeshOnce(int seed)
    {
        var all = new nint[6000];
        for (int i = 0; i < all.Length; i++) all[i] = (nint)NativeMemory.Alloc(64);
        for (int i = 0; i < all.Length; i++)
        {
            if (i % 16 != seed) NativeMemory.Free((void*)all[i]);
        }

        Objects.Mesh();
        for (int i = seed; i < all.Length; i += 16) NativeMemory.Free((void*)all[i]);
    }

    private sealed class Node
    {
        public Node? Next;
    }

    // All that a stop may find: compiled code in a loop, a callback out of it, pins, malloc, allocation and deletion, faults of null references, collections.
    private static void Work(uint seed, nint[] objects)
    {
        var random = new Random((int)seed);
        while (!s_ends)
        {
            switch (random.Next(7))
            {
                case 0: Objects.Churn((uint)random.Next(), 2000); break;
                case 1: Expect.That(Objects.Visit(20, &Visit) == 1, "a callback"); break;
                case 2:
                    int at = random.Next(objects.Length);
                    using (NativePin pin = NativeHandle.Pin(objects[at]))
                    {
                        Span<byte> bytes = pin.GetSpan(32 + at % 200);
                        for (int i = 0; i < bytes.Length; i++) Expect.That(bytes[i] == Objects.At(i, (uint)at), $"byte {i} of object {at}");
                    }

                    break;
                case 3: MeshOnce(random.Next(16)); break;
                case 4:
                    Node? first = null;
                    for (int i = 0; i < 2000; i++) first = new Node { Next = first };
                    while (first != null)
                    {
                        Node next = first.Next!;
                        Heap.Delete(first);
                        first = next;
                    }

                    break;
                case 5:
                    try
                    {
                        ((Node?)null)!.Next = null;
                    }
                    catch (NullReferenceException)
                    {
                    }

                    break;
                default: GC.Collect(); break;
            }
        }
    }

    [UnmanagedCallersOnly]
    private static int Visit(nint memory, nuint size, uint seed)
    {
        void* native = NativeMemory.Alloc(size);
        new Span<byte>((void*)memory, (int)size).CopyTo(new Span<byte>(native, (int)size));
        var copy = new byte[(int)size];
        new Span<byte>(native, (int)size).CopyTo(copy);
        NativeMemory.Free(native);
        bool good = true;
        for (int i = 0; i < copy.Length; i++) good &= copy[i] == Objects.At(i, seed);
        Heap.Delete(copy);
        return good ? 1 : 0;
    }
}
