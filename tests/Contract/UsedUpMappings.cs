using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Somebody else has all kernel mappings: what cannot be done is an <see cref="OutOfMemoryException"/>, with room to handle it, and never the end of the process.</summary>
internal static unsafe partial class UsedUpMappings
{
    private const int PageSize = 4096;
    private const int ProtNone = 0, ProtRead = 1;
    private const int Rounds = 30;

    private static byte* s_region;
    private static nuint s_size, s_end;
    private static volatile bool s_stop;
    private static bool s_isTaken;

    public static IEnumerable<Case> All() =>
    [
        new("mappings-used-up", _ => NothingFails(left: 0)),
        new("mappings-almost-used-up", _ => NothingFails(left: 200)),
        // Whatever the heap gives up or has in reserve is taken as soon as it is free.
        new("mappings-used-up-again", _ => Fill(left: 0, greedy: true)),
        new("mappings-dead-huge", _ => DeadHuge()),
    ];

    // Takes mappings until there is none, two at a time.
    private static void Take()
    {
        while (s_end < s_size && Protect(s_region + s_end + PageSize, PageSize, ProtRead) == 0)
            s_end += 2 * PageSize;
    }

    private static void TakeAll(int left)
    {
        s_size = (nuint)int.Parse(File.ReadAllText("/proc/sys/vm/max_map_count")) * 4 * PageSize;
        s_end = 0;
        s_region = MemoryMap(null, s_size, ProtNone, 0x4022, -1, 0);
        Expect.True(s_region != (byte*)-1);
        Take();
        for (int i = 1; i <= left / 2; i++)
            Expect.Equal(0, Protect(s_region + s_end - (nuint)((2 * i) - 1) * PageSize, PageSize, ProtNone));
    }

    private static void GiveBack() => Expect.Equal(0, Unmap(s_region, s_size));

    // A heap that has recycled its memory, as that takes mappings.
    private static List<byte[]> Recycled()
    {
        var kept = new List<byte[]>();
        for (int round = 0; round < 4; round++)
        {
            kept.AddRange(Arrays(20_000));
            Arrays(60_000).ForEach(Heap.Delete);
        }
        return kept;
    }

    // Memory is there, and the heap has mappings to spare. Where a random half of all blocks moves all the time, it uses them up.
    private static void NothingFails(int left)
    {
        int failures = Fill(left, greedy: false);
        Expect.True(failures == 0 || Environment.GetEnvironmentVariable("FREEHOLD_STRESS") is not null, $"{failures} rounds failed");
    }

    // How many rounds of allocation failed; each failure is handled.
    private static int Fill(int left, bool greedy)
    {
        List<byte[]> kept = Recycled();
        s_stop = false;
        var taker = new Thread(() =>
        {
            while (!s_stop)
            {
                if (Volatile.Read(ref s_isTaken))
                    Take();
                Thread.Sleep(1);
            }
        });
        if (greedy)
            taker.Start();
        TakeAll(left);
        Volatile.Write(ref s_isTaken, true);
        int failures = 0, handled = 0;
        Exception? unexpected = null;
        for (int round = 0; round < Rounds; round++)
        {
            try
            {
                kept.AddRange(Arrays(10_000));
                Arrays(10_000).ForEach(Heap.Delete);
                byte[] huge = new byte[20_000_000];
                huge[^1] = 1;
                Heap.Delete(huge);
            }
            catch (OutOfMemoryException exception)
            {
                failures++;
                try
                {
                    // As a program would: it says what happened, gives something up and goes on.
                    string text = $"round {round}: {exception.Message} {exception.StackTrace}";
                    handled += text.Contains(nameof(Fill)) ? 1 : 0;
                    int rest = Math.Max(0, kept.Count - 5_000);
                    for (int i = rest; i < kept.Count; i++)
                        Heap.Delete(kept[i]);
                    kept.RemoveRange(rest, kept.Count - rest);
                }
                catch (Exception again)
                {
                    unexpected = again;
                }
            }
        }

        // Before anything is printed: the console needs mappings too.
        s_stop = true;
        if (greedy)
            taker.Join();
        GiveBack();
        if (unexpected is not null)
            throw new ContractException($"while it was handled, {handled} of {failures}: {unexpected}");
        Expect.Equal(failures, handled);
        Console.WriteLine($"{failures} of {Rounds} rounds failed");
        foreach (byte[] array in kept)
            Expect.True(array[999] == 7);
        kept.ForEach(Heap.Delete);
        Arrays(50_000).ForEach(Heap.Delete);
        Heap.Delete(new byte[20_000_000]);
        return failures;
    }

    // Between live ones, which keep what they hold; the dead ones are gone, and so is their memory.
    private static void DeadHuge()
    {
        const int Count = 300, Size = 3 << 20;
        List<byte[]> kept = Recycled();
        var objects = new byte[Count][];
        TakeAll(left: 0);
        Exception? failure = null;
        int filled = 0;
        long before = 0, after = 0;
        try
        {
            for (; filled < Count; filled++)
            {
                objects[filled] = new byte[Size];
                objects[filled].AsSpan().Fill((byte)filled);
            }
            before = Environment.WorkingSet;
            for (int i = 0; i < Count; i += 2)
                Heap.Delete(objects[i]);
            Heap.Compact();
            GC.Collect();
            after = Environment.WorkingSet;
            Expect.Throws<DanglingReferenceException>(() => Read(objects[0]));
            for (int i = 1; i < Count; i += 2)
                Expect.True(objects[i][0] == (byte)i && objects[i][^1] == (byte)i);
        }
        catch (Exception exception)
        {
            failure = exception;
        }
        GiveBack();
        Expect.True(failure is null, $"after {filled} objects: {failure}");
        Console.WriteLine($"{before >> 20} MB before, {after >> 20} MB after");
        Expect.True(before - after > (long)Count * Size / 3, $"{before} before, {after} after");
        for (int i = 1; i < Count; i += 2)
            Heap.Delete(objects[i]);
        kept.ForEach(Heap.Delete);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Read(byte[] array) => array[Environment.ProcessorCount];

    private static List<byte[]> Arrays(int count)
    {
        var arrays = new List<byte[]>(count);
        for (int i = 0; i < count; i++)
        {
            byte[] array = new byte[1000];
            array[999] = 7;
            arrays.Add(array);
        }

        return arrays;
    }

    [LibraryImport("libc", EntryPoint = "mmap")]
    private static partial byte* MemoryMap(void* address, nuint size, int protection, int flags, int file, nint offset);

    [LibraryImport("libc", EntryPoint = "mprotect")]
    private static partial int Protect(void* address, nuint size, int protection);

    [LibraryImport("libc", EntryPoint = "munmap")]
    private static partial int Unmap(void* address, nuint size);
}
