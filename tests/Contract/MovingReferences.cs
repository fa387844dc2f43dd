using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace Freehold.Contract;

/// <summary>Cases of <see cref="Moving"/>: objects that move while a method is using them, and the fields and elements whose references are mended.</summary>
internal static partial class Moving
{
    private static void DuringRefLoop()
    {
        nint[] addresses = Scattered(Numbers);
        for (int k = 0; k < Victims; k++)
        {
            int[] array = Stale<int[]>(addresses[k]);
            ref int cursor = ref MemoryMarshal.GetArrayDataReference(array);
            ref int end = ref Unsafe.Add(ref cursor, array.Length);
            int sum = 0, steps = 0;
            while (Unsafe.IsAddressLessThan(ref cursor, ref end))
            {
                if (k == 0 && steps == 70)
                    Heap.Compact();
                sum += cursor;
                cursor = ref Unsafe.Add(ref cursor, 1);
                steps++;
            }
            Expect.Equal(150, steps);
            Expect.Equal(Expected(k), sum);
        }
    }

    private static void DuringVectorLoop()
    {
        nint[] addresses = Scattered(Numbers);
        int[] array = Stale<int[]>(addresses[3]);
        Vector256<int> sum = default;
        for (int i = 0; i < 144; i += 8)
        {
            if (i == 80)
                Heap.Compact();
            sum += Vector256.Create(array, i);
        }
        Expect.Equal(Enumerable.Range(3, 144).Sum(), Vector256.Sum(sum));
    }

    private static void DuringSpanLoop()
    {
        nint[] addresses = Scattered(Numbers);
        Span<int> span = Stale<int[]>(addresses[5]);
        int sum = 0;
        for (int i = 0; i < span.Length; i++)
        {
            if (i == 20)
                Heap.Compact();
            sum += span[i];
            span[i] = 0;
        }
        Expect.Equal(Expected(5), sum);
        Expect.Equal(0, Stale<int[]>(addresses[5]).Sum());
    }

    private static void DuringForeach()
    {
        nint[] addresses = Scattered(k => new List<int>(Numbers(k)));
        int sum = 0, steps = 0;
        foreach (int item in Stale<List<int>>(addresses[7]))
        {
            if (steps++ == 50)
                Heap.Compact();
            sum += item;
        }
        Expect.Equal(Expected(7), sum);
    }

    private static void DuringLock()
    {
        nint[] addresses = Scattered(k => new Subject(k));
        Subject held = Stale<Subject>(addresses[2]);
        var entered = new ManualResetEventSlim();
        Thread other;
        lock (held)
        {
            Heap.Compact();
            Expect.True(Monitor.IsEntered(held));
            other = new Thread(() => { lock (held) entered.Set(); });
            other.Start();
            Expect.True(!entered.Wait(50), "the lock was lost");
            held.Value = 77;
        }
        entered.Wait();
        other.Join();
        Expect.Equal(77, Stale<Subject>(addresses[2]).Value);
    }

    private static void DuringException()
    {
        nint[] addresses = Scattered(k => new InvalidOperationException("moved " + k));
        string seen = "";
        try
        {
            try
            {
                throw Stale<InvalidOperationException>(addresses[4]);
            }
            catch (ArgumentException)
            {
                seen += "wrong";
            }
            finally
            {
                Heap.Compact();
                seen += "finally ";
            }
        }
        catch (InvalidOperationException exception) when (exception.Message == "moved 4")
        {
            seen += exception.Message;
            try
            {
                throw;
            }
            catch (Exception again)
            {
                seen += again.Message;
            }
        }
        Expect.Equal("finally moved 4moved 4", seen);
    }

    private static void FieldIsMended()
    {
        nint[] addresses = Promoted(k => new Subject(k));
        var holder = new Subject(0) { Link = Stale<Subject>(addresses[0]) };
        ReadThrough(holder);
        ExpectMended(() =>
        {
            for (int i = 0; i < 100; i++)
                ReadThrough(holder);
        });
        Expect.True(Heap.GetStatistics().RepairedFields > 0, "no field was mended");
    }

    // One of the first walks meets no old name any more. (Without a stress mode it is the first; some of them promote what is walked once more.)
    private static void ExpectMended(Action walk)
    {
        long repaired = long.MaxValue;
        int walks = Environment.GetEnvironmentVariable("FREEHOLD_STRESS") is null ? 1 : 100;  // between two of which a round may come
        for (int i = 0; i < walks && repaired != 0; i++)
        {
            repaired = Heap.GetStatistics().RepairedFaults;
            walk();
            repaired = Heap.GetStatistics().RepairedFaults - repaired;
        }
        Expect.Equal(0L, repaired, "faults of the last walk");
    }

    private static void ElementIsMended()
    {
        nint[] addresses = Promoted(k => new Subject(k));
        var array = new Subject[3_000];
        for (int i = 0; i < array.Length; i++)
            array[i] = Stale<Subject>(addresses[i % Victims]);
        long expected = Sum(array);
        Expect.True(expected != 0);
        ExpectMended(() => Expect.Equal(expected, Sum(array)));
    }

    private sealed class Holder
    {
        public Subject? Held;
    }

    // The first to read a field mends it for all; but with FREEHOLD_STRESS=sites every place in the code has to meet an old name once.
    private static void EachSiteFaults()
    {
        nint[] addresses = Promoted(k => new Subject(k));
        var holder = new Holder { Held = Stale<Subject>(addresses[1]) };
        int value = holder.Held.Value;
        holder.Held = Stale<Subject>(addresses[1]);
        long FaultsOf(Func<Holder, int> read)
        {
            long before = Heap.GetStatistics().RepairedFaults;
            Expect.Equal(value++, read(holder));
            return Heap.GetStatistics().RepairedFaults - before;
        }

        long[] faults = [FaultsOf(ReadOne), FaultsOf(ReadTwo), FaultsOf(ReadThree)];
        string? stress = Environment.GetEnvironmentVariable("FREEHOLD_STRESS");
        // Other modes move the object again meanwhile.
        if (stress?.Contains("sites") == true)
            Expect.True(faults.All(count => count != 0), $"faults: {string.Join(", ", faults)}");
        else if (stress is null)
            Expect.Equal("1, 0, 0", string.Join(", ", faults), "faults");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadOne(Holder holder) => holder.Held!.Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadTwo(Holder holder) => holder.Held!.Value + 1;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadThree(Holder holder) => holder.Held!.Value + 2;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Sum(Subject[] array)
    {
        long total = 0;
        foreach (Subject subject in array)
            total += subject.Value;
        return total;
    }
}
