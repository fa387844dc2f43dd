namespace Freehold.Contract;

/// <summary>
/// The same for a heap that goes through a terabyte of addresses, until somebody else has the mappings, and then through as many more as there are mappings for. It keeps
/// a part of each step. Each failure is handled, and the process lives.
/// </summary>
internal static unsafe partial class UsedUpMappings
{
    private const long Gigabyte = 1L << 30;

    // Failures in a row after which the heap has come to its end. What it keeps for their handling, 8 MB, is enough for 25 like these.
    private const int FailuresAtMost = 20;

    public static IEnumerable<Case> OfTerabyte() =>
    [
        new("mappings-terabyte", arguments => Terabyte(left: 0, Number(arguments, 2048))),
        new("mappings-terabyte-almost-used-up", arguments => Terabyte(left: 600, Number(arguments, 2048))),
    ];

    private static int Number(string[] arguments, int otherwise) => arguments is [string number] ? int.Parse(number) : otherwise;

    // What a run has kept and met.
    private sealed class Run
    {
        public readonly byte[][] Kept = new byte[1 << 20][];
        public int Count;
        public int Failures, Handled, InARow;
        public Exception? Unexpected;

        public void Keep(int size)
        {
            byte[] array = new byte[size];
            array[^1] = (byte)size;
            Kept[Count++] = array;
        }

        public void Check()
        {
            for (int i = 0; i < Count; i++)
                Expect.Equal((byte)Kept[i].Length, Kept[i][^1]);
        }

        // What a program would do about it: it says what happened, and gives something up.
        public void Handle(OutOfMemoryException exception)
        {
            Failures++;
            InARow++;
            try
            {
                Handled += $"{exception.Message} {exception.StackTrace}".Contains(nameof(GoThrough)) ? 1 : 0;
                for (int i = 0; i < 1_000 && Count > 1_000; i++)
                {
                    Count--;
                    Heap.Delete(Kept[Count]);
                    Kept[Count] = null!;
                }
            }
            catch (Exception again)
            {
                Unexpected = again;
            }
        }
    }

    // A step takes small objects through 16 MB of addresses and keeps one of them to each block, and a large one between huge ones, which take 240 MB.
    private static void GoThrough(Run run, long addresses, int keptAtMost)
    {
        long end = Heap.GetStatistics().AddressSpaceUsed + addresses;
        while (Heap.GetStatistics().AddressSpaceUsed < end && run.InARow < FailuresAtMost && run.Unexpected is null)
        {
            try
            {
                for (int block = 0; block < 8; block++)
                {
                    for (int i = 0; i < 2_000; i++)
                        Heap.Delete(new byte[1_000]);
                    if (run.Count < keptAtMost)
                        run.Keep(1_000 + block);
                }
                for (int i = 0; i < 4; i++)
                {
                    byte[] huge = new byte[60 << 20];
                    huge[^1] = 1;
                    if (i % 2 == 0 && run.Count < keptAtMost)
                        run.Keep(2 << 20);
                    Heap.Delete(huge);
                }
                run.InARow = 0;
            }
            catch (OutOfMemoryException exception)
            {
                run.Handle(exception);
            }
        }
    }

    private static void Terabyte(int left, int gigabytes)
    {
        // 2 MB each with their neighbours, of which only the large ones have all.
        const int KeptAtMost = 8_000;
        var run = new Run();
        long used = Heap.GetStatistics().AddressSpaceUsed;
        GoThrough(run, gigabytes * Gigabyte / 2, KeptAtMost / 2);
        Expect.Equal(0, run.Failures);
        HeapStatistics before = Heap.GetStatistics();
        TakeAll(left);
        GoThrough(run, (gigabytes * Gigabyte) - (before.AddressSpaceUsed - used), KeptAtMost);
        // Before anything is printed: the console needs mappings too.
        GiveBack();
        HeapStatistics after = Heap.GetStatistics();
        Console.WriteLine(
            $"{(before.AddressSpaceUsed - used) >> 30} GB of addresses and {before.Mappings} mappings before, {(after.AddressSpaceUsed - used) >> 30} GB after; "
            + $"{run.Count} objects kept in {after.LiveBlocks} blocks; {run.Handled} of {run.Failures} failures handled");
        if (run.Unexpected is not null)
            throw new ContractException($"while a failure was handled: {run.Unexpected}");
        Expect.Equal(run.Failures, run.Handled);
        run.Check();
        // With mappings again, everything works.
        run.InARow = 0;
        int failures = run.Failures;
        GoThrough(run, Gigabyte, KeptAtMost);
        Expect.Equal(failures, run.Failures);
        run.Check();
        for (int i = 0; i < run.Count; i++)
            Heap.Delete(run.Kept[i]);
    }
}
