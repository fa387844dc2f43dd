using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text.Json;
using Freehold.NativeHeapTests;

// NativeHeap <verb>: 0 and "ok", or what is wrong.
if (args is not [string verb])
{
    Console.Error.WriteLine("verbs: statistics pairs sparse beside calls processes forks");
    return 2;
}

switch (verb)
{
    case "statistics": Verbs.Statistics(); break;
    case "pairs": Verbs.Pairs(); break;
    case "sparse": Verbs.Sparse(); break;
    case "beside": Verbs.Beside(); break;
    case "calls": Verbs.SystemCalls(); break;
    case "processes": Verbs.Processes(); break;
    case "forks": Verbs.Forks(); break;
    default: throw new ArgumentException(verb);
}

Console.WriteLine("ok");
return 0;

internal static unsafe class Verbs
{
    private static void Check(bool good, string what, [CallerLineNumber] int line = 0)
    {
        if (!good) throw new InvalidOperationException($"line {line}: {what}");
    }

    private static void CheckHeap()
    {
        byte* violated = LibC.freehold_mesh_verify();
        Check(violated == null, Marshal.PtrToStringUTF8((nint)violated) ?? "");
        Heap.Verify();
    }

    /// <summary>Many small objects of which one in so many is kept: spans that can be meshed.</summary>
    private static nint[] MakeSparse(int objects, int size, int keptOf, int seed)
    {
        var all = new nint[objects];
        for (int i = 0; i < objects; i++)
        {
            all[i] = (nint)NativeMemory.Alloc((nuint)size);
            *(long*)all[i] = seed * 1_000_003L + i;
            *(long*)(all[i] + size - 8) = i;
        }

        var kept = new List<nint>();
        for (int i = 0; i < objects; i++)
        {
            if (i % keptOf == seed % keptOf) kept.Add(all[i]);
            else NativeMemory.Free((void*)all[i]);
        }

        return [.. kept];
    }

    private static void FreeSparse(nint[] kept, int size, int keptOf, int seed)
    {
        for (int k = 0; k < kept.Length; k++)
        {
            int i = k * keptOf + seed % keptOf;
            Check(*(long*)kept[k] == seed * 1_000_003L + i && *(long*)(kept[k] + size - 8) == i, $"object {i} of {size} bytes is not what was stored");
            NativeMemory.Free((void*)kept[k]);
        }
    }

    /// <summary>The JSON of the malloc and the figures of Heap.GetStatistics are of this process's memory.</summary>
    public static void Statistics()
    {
        long before = Heap.GetStatistics().Native.LargeBytes;
        void* large = NativeMemory.Alloc(10_000_000);
        NativeHeapStatistics figures = Heap.GetStatistics().Native;
        Check(figures.LargeBytes >= before + 10_000_000, $"{figures.LargeBytes} bytes of large objects, {before} before");
        Check(figures.UsedBytes >= figures.LargeBytes, "used");
        Check(figures.MappingBudget is > 0 and < 20_000, $"a budget of {figures.MappingBudget} mappings beside a managed heap");
        byte[] text = new byte[64 << 10];
        nuint length;
        fixed (byte* pointer = text) length = LibC.freehold_mesh_statistics(pointer, (nuint)text.Length);
        using JsonDocument json = JsonDocument.Parse(text.AsMemory(0, (int)length));
        Check(json.RootElement.GetProperty("large_bytes").GetInt64() >= 10_000_000, json.RootElement.ToString());
        Check(json.RootElement.GetProperty("other_allocator").GetString() == "", "another allocator");
        NativeMemory.Free(large);
        Check(Heap.GetStatistics().Native.LargeBytes < before + 10_000_000, "not freed");
        Check(Heap.IsManual, "the managed heap is not Freehold's");
    }

    /// <summary>What one side allocates the other one frees: the runtime's functions, the C library's own, and P/Invokes that look functions up in it.</summary>
    public static void Pairs()
    {
        for (int i = 0; i < 1000; i++)
        {
            fixed (byte* text = "a text that the C library copies\0"u8)
            {
                byte* copy = LibC.strdup(text);
                Check(copy[2] == (byte)'t', "strdup");
                if (i % 2 == 0) LibC.free(copy);
                else NativeMemory.Free(copy);
            }

            NativeMemory.Free(LibC.malloc(100));
            LibC.free(NativeMemory.Alloc(100));
            Marshal.FreeHGlobal(Marshal.AllocHGlobal(5000));
            nint task = Marshal.StringToCoTaskMemUTF8("text");
            LibC.free((void*)task);
            NativeMemory.AlignedFree(NativeMemory.AlignedAlloc(300, 256));
        }

        // Directories, addresses of names, the environment, time zones: all allocate inside the C library or the runtime's shims.
        Check(Directory.GetFiles("/proc/self").Length > 5, "/proc/self");
        Check(System.Net.Dns.GetHostAddresses("localhost").Length > 0, "localhost");
        Check(TimeZoneInfo.GetSystemTimeZones() != null, "time zones");
        nint library = NativeLibrary.Load("libc.so.6");
        Check(NativeLibrary.GetExport(library, "malloc") == NativeLibrary.GetExport(NativeLibrary.GetMainProgramHandle(), "malloc"), "two mallocs");
        CheckHeap();
    }

    /// <summary>Meshing saves memory, and no object changes.</summary>
    public static void Sparse()
    {
        var kept = new (nint[] Objects, int Size)[3];
        int[] sizes = [48, 256, 1024];
        for (int i = 0; i < 3; i++) kept[i] = (MakeSparse(40_000, sizes[i], 16, i), sizes[i]);
        LibC.freehold_mesh_compact();
        NativeHeapStatistics figures = Heap.GetStatistics().Native;
        Check(figures.Meshes > 100 && figures.SavedBytes > 1_000_000, $"{figures.Meshes} meshes saved {figures.SavedBytes} bytes");
        CheckHeap();
        for (int i = 0; i < 3; i++) FreeSparse(kept[i].Objects, kept[i].Size, 16, i);
        CheckHeap();
    }

    /// <summary>Both heaps at work: native objects that are meshed, managed ones that are deleted and moved, null references and dangling ones, collections.</summary>
    public static void Beside()
    {
        var failures = new List<Exception>();
        var threads = new Thread[4];
        for (int t = 0; t < threads.Length; t++)
        {
            int seed = t;
            threads[t] = new Thread(() =>
            {
                try
                {
                    for (int round = 0; round < 12; round++)
                    {
                        nint[] native = MakeSparse(8000, 64 << (seed % 3), 16, seed);
                        ManagedRound(seed * 100 + round);
                        if (seed == 0) LibC.freehold_mesh_compact();
                        if (seed == 1) GC.Collect();
                        FreeSparse(native, 64 << (seed % 3), 16, seed);
                    }
                }
                catch (Exception exception)
                {
                    lock (failures) failures.Add(exception);
                }
            });
            threads[t].Start();
        }

        foreach (Thread thread in threads) thread.Join();
        Check(failures.Count == 0, string.Join("\n", failures));
        Check(Heap.GetStatistics().Native.Meshes > 0, "nothing was meshed");
        CheckHeap();
    }

    private sealed class Node
    {
        public Node? Next;
        public int Number;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Read(Node? node) => node!.Number;

    private static void ManagedRound(int seed)
    {
        Node? first = null;
        for (int i = 0; i < 2000; i++)
        {
            first = new Node { Next = first, Number = seed + i };
            if (i % 3 != 0) continue;
            var dropped = new byte[100 + i % 50];
            Heap.Delete(dropped);
        }

        int nulls = 0, dangling = 0;
        for (int i = 0; i < 50; i++)
        {
            try { Read(null); } catch (NullReferenceException) { nulls++; }
        }

        Node last = first!;
        for (int i = 1999; first != null; i--)
        {
            Check(first.Number == seed + i, $"node {i} has {first.Number}");
            Node next = first.Next!;
            Heap.Delete(first);
            first = next;
        }

        for (int i = 0; i < 5; i++)
        {
            try { dangling += Read(last) == seed + 1999 ? 1 : 100; } catch (DanglingReferenceException) { dangling++; }
        }

        Check(nulls == 50 && dangling == 5, $"{nulls} null references, {dangling} dangling ones");
    }

    /// <summary>The kernel writes into small objects while other threads make spans mesh: no call fails.</summary>
    public static void SystemCalls()
    {
        int file;
        fixed (byte* path = "/dev/zero\0"u8) file = LibC.open(path, 0);
        Check(file >= 0, "/dev/zero");
        bool stop = false;
        var mesher = new Thread(() =>
        {
            for (int i = 0; !Volatile.Read(ref stop); i++)
            {
                nint[] kept = MakeSparse(4000, 64, 16, i % 16);
                LibC.freehold_mesh_compact();
                FreeSparse(kept, 64, 16, i % 16);
            }
        });
        mesher.Start();
        nint[] buffers = MakeSparse(4000, 64, 16, 5);
        var random = new byte[32];
        for (int i = 0; i < 100_000; i++)
        {
            nint done = LibC.read(file, (void*)buffers[i % buffers.Length], 64);
            Check(done == 64, $"read number {i}: {done}, error {Marshal.GetLastPInvokeError()}");
        }

        Volatile.Write(ref stop, true);
        mesher.Join();
        CheckHeap();
    }

    /// <summary>Children by Process.Start from several threads, beside meshing.</summary>
    public static void Processes()
    {
        bool stop = false;
        var mesher = new Thread(() =>
        {
            for (int i = 0; !Volatile.Read(ref stop); i++)
            {
                nint[] kept = MakeSparse(4000, 128, 16, i % 16);
                LibC.freehold_mesh_compact();
                FreeSparse(kept, 128, 16, i % 16);
            }
        });
        mesher.Start();
        var failures = new List<string>();
        var starters = Enumerable.Range(0, 3).Select(t => new Thread(() =>
        {
            for (int i = 0; i < 15; i++)
            {
                var start = new ProcessStartInfo("sh", ["-c", $"read x; echo $x; exit {i}"]) { RedirectStandardInput = true, RedirectStandardOutput = true };
                using Process child = Process.Start(start)!;
                child.StandardInput.WriteLine($"hello {t} {i}");
                string said = child.StandardOutput.ReadToEnd();
                child.WaitForExit();
                if (said != $"hello {t} {i}\n" || child.ExitCode != i)
                {
                    lock (failures) failures.Add($"{t} {i}: '{said}' {child.ExitCode}");
                }
            }
        })).ToArray();
        foreach (Thread thread in starters) thread.Start();
        foreach (Thread thread in starters) thread.Join();
        Volatile.Write(ref stop, true);
        mesher.Join();
        Check(failures.Count == 0, string.Join("; ", failures));
        CheckHeap();
    }

    /// <summary>Children that go on in managed code: they and the parent see their own objects, and allocate.</summary>
    public static void Forks()
    {
        nint[] kept = MakeSparse(20_000, 64, 16, 3);
        LibC.freehold_mesh_compact();
        for (int i = 0; i < 5; i++)
        {
            int child = LibC.fork();
            Check(child >= 0, "fork");
            if (child == 0)
            {
                int code = 1;
                try
                {
                    nint[] own = MakeSparse(5000, 64, 16, 7);
                    foreach (nint pointer in kept) *(long*)(pointer + 8) = -1;
                    var nodes = new List<Node>();
                    for (int k = 0; k < 1000; k++) nodes.Add(new Node { Number = k });
                    FreeSparse(own, 64, 16, 7);
                    FreeSparse(kept, 64, 16, 3);
                    code = nodes.Sum(node => node.Number) == 499_500 && LibC.freehold_mesh_verify() == null ? 40 + i : 2;
                }
                catch (Exception exception)
                {
                    Console.Error.WriteLine(exception);
                }

                LibC._exit(code);
            }

            foreach (nint pointer in kept) *(long*)(pointer + 16) = i;
            int status = 0;
            Check(LibC.waitpid(child, &status, 0) == child, "waitpid");
            Check(status == (40 + i) << 8, $"child {i} ended with {status:x}");
        }

        foreach (nint pointer in kept) Check(*(long*)(pointer + 8) != -1 && *(long*)(pointer + 16) == 4, "a child wrote into the parent's memory");
        FreeSparse(kept, 64, 16, 3);
        CheckHeap();
    }
}
