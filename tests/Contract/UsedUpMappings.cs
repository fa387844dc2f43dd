using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Somebody else has all kernel mappings: what cannot be done is an <see cref="OutOfMemoryException"/>, with room to handle it, and never the end of the process.</summary>
internal static unsafe partial class UsedUpMappings
{
    private const int PageSize = 4096;
    private const int ProtNone = 0, ProtRead = 1;

    public static IEnumerable<Case> All()
    {
        yield return new("mappings-almost-used-up", _ => UsedUp(200));
    }

    private static void UsedUp(int left)
    {
        // A heap that has recycled its memory, as that takes mappings.
        var kept = new List<byte[]>();
        for (int round = 0; round < 4; round++)
        {
            kept.AddRange(Arrays(20_000));
            Arrays(60_000).ForEach(Heap.Delete);
        }

        nuint size = (nuint)int.Parse(File.ReadAllText("/proc/sys/vm/max_map_count")) * 2 * PageSize;
        byte* region = MemoryMap(null, size, ProtNone, 0x4022, -1, 0);
        Expect.True(region != (byte*)-1);
        nuint end = 0;
        while (end < size && Protect(region + end + PageSize, PageSize, ProtRead) == 0)
            end += 2 * PageSize;
        for (int i = 1; i <= left / 2; i++)
            Expect.Equal(0, Protect(region + end - (nuint)(2 * i - 1) * PageSize, PageSize, ProtNone));

        int failures = 0, handled = 0;
        Exception? unexpected = null;
        for (int round = 0; round < 30; round++)
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
                    // As a program would: it gives something up, then it has room to say what happened.
                    int rest = Math.Max(0, kept.Count - 5_000);
                    for (int i = rest; i < kept.Count; i++)
                        Heap.Delete(kept[i]);
                    kept.RemoveRange(rest, kept.Count - rest);
                    handled += exception.StackTrace!.Contains(nameof(UsedUp)) ? 1 : 0;
                }
                catch (Exception again)
                {
                    unexpected = again;
                }
            }
        }

        // Before anything is printed: the console needs mappings too.
        Expect.Equal(0, Unmap(region, size));
        if (unexpected is not null)
            throw new ContractException($"while it was handled, {handled} of {failures}: {unexpected}");
        Expect.Equal(failures, handled);
        Console.WriteLine($"{failures} of 30 rounds failed");
        Expect.True(left == 0 || failures == 0, $"{failures} failures with {left} mappings left");
        foreach (byte[] array in kept)
            Expect.True(array[999] == 7);
        kept.ForEach(Heap.Delete);
        Arrays(50_000).ForEach(Heap.Delete);
        Heap.Delete(new byte[20_000_000]);
    }

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
