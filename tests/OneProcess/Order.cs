using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Freehold.OneProcessTests;

/// <summary>Who gives memory back when one heap wants more than the limit leaves: each heap holds free memory, sparse objects and, of the managed one, what no root reaches; then each wants a lot.</summary>
internal static unsafe class Order
{
    private const long Each = 60 << 20;
    private const int Size = 200, Of = 16;
    private static readonly string[] s_steps = ["spare", "compact", "reclaim"];

    private sealed record Turn(long Round, int Step, string Owner, string Asker, long Held, long Given, double Milliseconds);

    internal static void Run()
    {
        long byOthers = 0;
        foreach (string asker in (string[])["managed", "mesh", "handles"])
        {
            object managed = FillManaged();
            List<nint> malloc = FillMalloc(), handles = FillHandles();
            long last = Turns().LastOrDefault()?.Round ?? 0;
            bool given = Ask(asker);
            Turn[] turns = [.. Turns().Where(turn => turn.Round > last && turn.Asker == asker)];
            foreach (Turn turn in turns)
            {
                Console.Error.WriteLine($"{asker} asks, round {turn.Round - last}: {s_steps[turn.Step]}, {turn.Owner}: {turn.Held >> 20} MB - {turn.Given / 1048576.0:f1} MB, {turn.Milliseconds:f1} ms");
            }

            Expect.That(given, $"no memory for {asker}");
            Expect.That(turns.Length != 0, $"{asker} has asked nobody");
            Check(asker, turns);
            byOthers += turns.Where(turn => turn.Owner != asker).Sum(turn => turn.Given);
            Expect.That(((byte[]?[])managed).All(one => one is null || one[0] == 7), "managed objects");
            foreach (byte[]? one in (byte[]?[])managed)
            {
                if (one is not null) Heap.Delete(one);
            }

            Heap.Delete(managed);
            malloc.ForEach(one => NativeMemory.Free((void*)one));
            handles.ForEach(Objects.Free);
            Heap.Verify();
        }

        Expect.That(byOthers > Each, $"who did not ask gave {byOthers} bytes in all");
    }

    // The documented order, for whatever happened: steps from cheap to dear; in a step the asker last, and of the others who holds most first. A round may end at any turn.
    private static void Check(string asker, Turn[] turns)
    {
        foreach (IGrouping<long, Turn> round in turns.GroupBy(turn => turn.Round))
        {
            Turn[] all = [.. round];
            Expect.That(all[0].Step == 0 && all[0].Owner != asker, $"round {round.Key} begins with step {all[0].Step} of {all[0].Owner}");
            for (int i = 1; i < all.Length; i++)
            {
                Expect.That(all[i].Step == all[i - 1].Step || (all[i].Step == all[i - 1].Step + 1 && all[i - 1].Owner == asker), $"round {round.Key}: step {all[i].Step} after {all[i - 1].Step} of {all[i - 1].Owner}");
                if (all[i].Step == all[i - 1].Step)
                {
                    // The order is that of the step's beginning; nobody but who gave has less since.
                    Expect.That(all[i - 1].Owner != asker && (all[i].Owner == asker || all[i - 1].Held + Each / 8 >= all[i].Held), $"round {round.Key}, step {all[i].Step}: {all[i].Owner} after {all[i - 1].Owner}");
                }
            }
        }
    }

    // Whoever waits behind a handle goes on as soon as the round stops the handles, and finds what has been given by then: it asks again.
    private static bool Ask(string asker)
    {
        HeapStatistics now = Heap.GetStatistics();
        long wanted = now.MemoryLimit * 7 / 8 - now.MemoryHeld + Each;
        var watch = System.Diagnostics.Stopwatch.StartNew();
        switch (asker)
        {
            case "managed":
                var made = new byte[wanted];
                made[wanted - 1] = 1;
                Heap.Delete(made);
                return true;
            case "mesh":
                nint memory = (nint)NativeMemory.Alloc((nuint)wanted);
                NativeMemory.Free((void*)memory);
                return memory != 0;
            default:
                nint large;
                while ((large = Objects.Make((nuint)wanted, 1)) == 0 && watch.Elapsed < TimeSpan.FromSeconds(60)) Thread.Sleep(10);
                Objects.Free(large);
                return large != 0;
        }
    }

    // One object of 16 stays, and of the others half are deleted: the rest is for a reclaim.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static object FillManaged()
    {
        var kept = new byte[]?[Each / Size];
        for (int i = 0; i < kept.Length; i++)
        {
            byte[] one = new byte[Size - 24];
            one[0] = 7;
            kept[i] = one;
        }

        for (int i = 0; i < kept.Length; i++)
        {
            if (i % Of != 0 && i % 2 != 0) Heap.Delete(kept[i]!);
            if (i % Of != 0) kept[i] = null;
        }

        return kept;
    }

    private static List<nint> FillMalloc() => Fill(() => (nint)NativeMemory.Alloc(Size), one => NativeMemory.Free((void*)one));

    private static List<nint> FillHandles() => Fill(() => Objects.Make(Size, 5), Objects.Free);

    private static List<nint> Fill(Func<nint> make, Action<nint> free)
    {
        var all = new List<nint>();
        for (long i = 0; i < Each / Size; i++) all.Add(make());
        for (int i = 0; i < all.Count; i++)
        {
            if (i % Of != 0) free(all[i]);
        }

        return [.. all.Where((_, i) => i % Of == 0)];
    }

    private static Turn[] Turns()
    {
        byte[] text = new byte[1 << 16];
        nuint length;
        fixed (byte* at = text) length = Objects.Statistics(at, (nuint)text.Length);
        using JsonDocument read = JsonDocument.Parse(text.AsMemory(0, (int)length));
        return
        [
            .. read.RootElement.GetProperty("budget").GetProperty("turns").EnumerateArray().Select(turn => new Turn(
                turn.GetProperty("round").GetInt64(), Array.IndexOf(s_steps, turn.GetProperty("step").GetString()), turn.GetProperty("owner").GetString()!, turn.GetProperty("asker").GetString()!,
                turn.GetProperty("held").GetInt64(), turn.GetProperty("given").GetInt64(), turn.GetProperty("nanoseconds").GetInt64() / 1e6)),
        ];
    }
}
