using System.Globalization;
using System.Runtime.InteropServices;

namespace Freehold.OneProcessTests;

/// <summary>Three heaps in 256 MB take turns in growing to 180 MB. What each leaves behind are sparse objects, whose memory only compaction gives back.</summary>
internal static unsafe class Budget
{
    private const long Most = 180 << 20, Limit = 256 << 20;
    private const int KeptOf = 40;
    private static readonly int[] s_sizes = [112, 256, 640, 1280];
    private static long s_highest;

    private interface ITurn
    {
        string Name { get; }

        long Held(in HeapStatistics figures);

        void Add(int number);

        /// <summary>Checks every object, and frees those that the predicate does not keep.</summary>
        void Drop(Func<int, bool> keep);
    }

    internal static void Run()
    {
        // The library is loaded, and its heap joins.
        Objects.Free(Objects.Make(16, 0));
        HeapStatistics begin = Heap.GetStatistics();
        Expect.That(begin.MemoryLimit == Limit, $"a limit of {begin.MemoryLimit} bytes");
        string largest = "";
        Heap.MemoryPressure += (_, arguments) => largest += arguments.Largest + " ";
        ITurn[] turns = [new ManagedTurn(), new MeshTurn(), new HandleTurn()];
        for (int round = 0; round < 6; round++)
        {
            ITurn turn = turns[round % 3];
            turn.Drop(_ => false);
            int count = 0;
            while (turn.Held(Heap.GetStatistics()) < Most)
            {
                for (int i = 0; i < 2000; i++) turn.Add(count++);
                Measure();
            }

            HeapStatistics full = Heap.GetStatistics();
            Console.Error.WriteLine($"{turn.Name} at its height: managed {full.ResidentBytes >> 20}, malloc {(full.Native.UsedBytes + full.Native.CachedBytes) >> 20}, handles {full.Handles.ResidentBytes >> 20} MB; "
                + $"{full.BudgetRounds} rounds gave {full.BudgetSpareBytes >> 20} spare, {full.BudgetCompactedBytes >> 20} compacted, {full.BudgetReclaimedBytes >> 20} reclaimed MB in {full.BudgetTime.TotalMilliseconds:f0} ms");
            turn.Drop(i => i % KeptOf == 0);
        }

        HeapStatistics end = Heap.GetStatistics();
        Expect.That(end.BudgetRounds > begin.BudgetRounds, "nobody was asked to give back");
        Expect.That(s_highest <= Limit, $"{s_highest} bytes of PSS");
        Expect.That(largest.Contains("managed", StringComparison.Ordinal) || largest.Contains("native", StringComparison.Ordinal) || largest.Contains("handles", StringComparison.Ordinal), "no notice of pressure");
        foreach (ITurn turn in turns) turn.Drop(_ => false);
        Heap.Verify();
        Console.Error.WriteLine($"at most {s_highest >> 20} MB of PSS; pressure: {largest}");
    }

    private static void Measure()
    {
        foreach (string line in File.ReadLines("/proc/self/smaps_rollup"))
        {
            if (line.StartsWith("Pss:", StringComparison.Ordinal))
                s_highest = Math.Max(s_highest, long.Parse(line[4..^2], NumberStyles.AllowLeadingWhite | NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture) << 10);
        }
    }

    private sealed class ManagedTurn : ITurn
    {
        private readonly List<(int Number, byte[] Object)> _all = [];

        public string Name => "managed heap";

        public long Held(in HeapStatistics figures) => figures.ResidentBytes;

        public void Add(int number)
        {
            var made = new byte[s_sizes[number % 4] - 24];
            BitConverter.TryWriteBytes(made, number);
            _all.Add((number, made));
        }

        public void Drop(Func<int, bool> keep)
        {
            int kept = 0;
            for (int i = 0; i < _all.Count; i++)
            {
                (int number, byte[] one) = _all[i];
                Expect.That(BitConverter.ToInt32(one) == number, $"managed object {number}");
                if (keep(number)) _all[kept++] = (number, one);
                else Heap.Delete(one);
            }

            _all.RemoveRange(kept, _all.Count - kept);
            _all.TrimExcess();
        }
    }

    private sealed class MeshTurn : ITurn
    {
        private readonly List<(int Number, nint Object)> _all = [];

        public string Name => "meshing malloc";

        public long Held(in HeapStatistics figures) => figures.Native.UsedBytes + figures.Native.CachedBytes;

        public void Add(int number)
        {
            int size = s_sizes[number % 4];
            var made = (nint)NativeMemory.Alloc((nuint)size);
            *(int*)made = number;
            *(int*)(made + size - 4) = ~number;
            _all.Add((number, made));
        }

        public void Drop(Func<int, bool> keep)
        {
            int kept = 0;
            for (int i = 0; i < _all.Count; i++)
            {
                (int number, nint one) = _all[i];
                Expect.That(*(int*)one == number && *(int*)(one + s_sizes[number % 4] - 4) == ~number, $"native object {number}");
                if (keep(number)) _all[kept++] = (number, one);
                else NativeMemory.Free((void*)one);
            }

            _all.RemoveRange(kept, _all.Count - kept);
            _all.TrimExcess();
        }
    }

    private sealed class HandleTurn : ITurn
    {
        private readonly List<(int Number, nint Object)> _all = [];

        public string Name => "heap of handles";

        public long Held(in HeapStatistics figures) => figures.Handles.ResidentBytes;

        public void Add(int number)
        {
            nint made = Objects.Make((nuint)s_sizes[number % 4], (uint)number);
            Expect.That(made != 0, $"no memory for object {number}");
            _all.Add((number, made));
        }

        public void Drop(Func<int, bool> keep)
        {
            int kept = 0;
            for (int i = 0; i < _all.Count; i++)
            {
                (int number, nint one) = _all[i];
                Expect.That(Objects.IsIntact(one, (nuint)s_sizes[number % 4], (uint)number) == 1, $"object {number} behind a handle");
                if (keep(number)) _all[kept++] = (number, one);
                else Objects.Free(one);
            }

            _all.RemoveRange(kept, _all.Count - kept);
            _all.TrimExcess();
        }
    }
}
