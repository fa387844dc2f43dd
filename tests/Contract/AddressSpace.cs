using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>A program that allocates more than there are addresses. To be run with FREEHOLD_ADDRESS_SPACE=64G: 16 GB of it are for small objects, 32 GB for those above 1 MB.</summary>
internal static class AddressSpace
{
    private sealed class Payload(long id)
    {
        public readonly long Id = id;
        private Room _room;

        [InlineArray(120)]
        private struct Room
        {
            private long _first;
        }
    }

    private struct Cell
    {
        public Payload? Payload;
    }

    public static IEnumerable<Case> All()
    {
        yield return new("out-of-addresses-small", _ => Small());
        yield return new("out-of-addresses-threads", _ => Threads());
        yield return new("out-of-addresses-huge", _ => Huge());
        yield return new("out-of-addresses-held", _ => Held());
        yield return new("out-of-addresses-held-huge", _ => HeldHuge());
    }

    private static long Reused => Heap.GetStatistics().AddressSpaceReused;

    /// <summary>Allocates and deletes so many bytes.</summary>
    private static void Churn(long bytes)
    {
        for (long id = 0; id < bytes / 1_000; id++)
            Heap.Delete(new Payload(id));
    }

    private static bool IsOrThrows(Payload payload, long id)
    {
        try
        {
            return payload.Id == id;
        }
        catch (Exception exception) when (exception is DanglingReferenceException or OutOfMemoryException)
        {
            return true;
        }
    }

    private static void Small()
    {
        var cells = new Cell[300];
        var weak = new WeakReference<Payload>[cells.Length];
        var onStack = new Payload(-1);
        for (int i = 0; i < cells.Length; i++)
        {
            cells[i].Payload = new Payload(i);
            weak[i] = new(cells[i].Payload!);
            Churn(10 << 20);
        }
        Payload first = cells[0].Payload!;
        Heap.Delete(onStack);
        foreach (Cell cell in cells)
            Heap.Delete(cell.Payload);
        Churn(40L << 30);
        Expect.True(Reused > 0);
        Expect.True(Heap.GetStatistics().AddressSpaceUsed <= 64L << 30);
        Expect.True(IsOrThrows(onStack, -1));
        Expect.True(ReferenceEquals(first, cells[0].Payload));
        for (int i = 0; i < cells.Length; i++)
        {
            Expect.True(IsOrThrows(cells[i].Payload!, i));
            Expect.True(!weak[i].TryGetTarget(out _));
            Expect.True(!ReferenceEquals(cells[i].Payload, cells[(i + 1) % cells.Length].Payload));
        }
    }

    private static void Threads()
    {
        var failures = new string?[4];
        Thread[] threads = [.. Enumerable.Range(0, failures.Length).Select(id => new Thread(() =>
        {
            var cells = new Cell[1_000];
            for (long i = 0; i < 12L << 30; i += 1_000)
            {
                ref Cell cell = ref cells[i / 1_000 % cells.Length];
                long old = i / 1_000 - cells.Length;
                if (cell.Payload is { } payload && payload.Id != old)
                    failures[id] = $"{payload.Id} is where {old} was";
                Heap.Delete(cell.Payload);
                cell.Payload = new Payload(i / 1_000);
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Expect.True(failures.All(failure => failure is null), failures.FirstOrDefault(failure => failure is not null));
        Expect.True(Reused > 0);
    }

    private static void Huge()
    {
        byte[] kept = new byte[100_000_000];
        kept[^1] = 17;
        byte[] deleted = new byte[50_000_000];
        deleted[^1] = 18;
        Memory<byte> part = deleted.AsMemory(40_000_000);
        Heap.Delete(deleted);
        for (long bytes = 0, size = 1 << 20; bytes < 100L << 30; bytes += size)
        {
            size = 1_100_000 + bytes / 7 % 60_000_000;
            byte[] array = new byte[size];
            Expect.Equal(0, array[size / 2]);
            array[size / 2] = 1;
            Heap.Delete(array);
        }
        Expect.True(Reused > 0);
        Expect.Equal(17, kept[^1]);
        Expect.Throws<DanglingReferenceException>(() => part.Span[^1].ToString());
    }

    // As long as something names every 32 MB, none of them is used again; then all are.
    private static void Held()
    {
        var cells = new Cell[10_000];
        int count = 0;
        Expect.Throws<OutOfMemoryException>(() =>
        {
            while (true)
            {
                Payload payload = new(count);
                Heap.Delete(payload);
                cells[count++].Payload = payload;
                Churn(7 << 20);
            }
        });
        Expect.True(count > 2_000);
        for (int i = 0; i < count; i++)
            Expect.True(IsOrThrows(cells[i].Payload!, i));
        Expect.Throws<OutOfMemoryException>(() => Churn(1L << 30));
        Array.Clear(cells);
        Churn(40L << 30);
        Expect.True(Reused > 20L << 30);
    }

    private static void HeldHuge()
    {
        const int Size = 30_000_000;
        var arrays = new byte[2_000][];
        int count = 0;
        for (int i = 0; i < 3; i++)  // what was refused stays refused
        {
            Expect.Throws<OutOfMemoryException>(() =>
            {
                while (true)
                {
                    arrays[count] = new byte[Size];
                    Heap.Delete(arrays[count++]);
                }
            });
        }
        Expect.True(count > 900);
        Array.Clear(arrays);
        for (int i = 0; i < 3_000; i++)
            Heap.Delete(new byte[Size]);
        Expect.True(Reused > 32L << 30);
    }
}
