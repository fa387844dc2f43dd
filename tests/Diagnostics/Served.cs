using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Diagnostics;

/// <summary>A program that does what it is told on standard input, while tests/Diagnostics.Tests asks it from outside.</summary>
internal static partial class Served
{
    public static void Run()
    {
        Console.WriteLine("ready");
        while (Console.ReadLine() is { } line)
        {
            string[] words = line.Split(' ');
            int number = words.Length > 1 ? int.Parse(words[1]) : 0;
            switch (words[0])
            {
                case "leak":
                    Lose(number);
                    break;
                case "delete":
                    for (int i = 0; i < number; i++)
                        Heap.Delete(new byte[1_000]);
                    break;
                case "graph":
                    s_tree = MakeTree(number);
                    break;
                case "change":
                    new Thread(ChangeForEver) { IsBackground = true }.Start();
                    break;
                case "forget":
                    DeletePayloads(number);
                    break;
                case "fork":
                    Console.WriteLine(Fork());
                    break;
                case "quit":
                    return;
                default:
                    throw new InvalidOperationException($"'{line}' is no order");
            }
            Console.WriteLine("done");
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Lose(int count)
    {
        for (int i = 0; i < count; i++)
            GC.KeepAlive(new Lost());
    }

    // The child does nothing until it gets a SIGTERM; then it exits as a C program does, with all that was registered for that.
    private static int Fork()
    {
        Span<int> ends = stackalloc int[2];
        if (MakePipe(ref ends[0]) != 0)
            throw new InvalidOperationException("there is no pipe");
        byte one = 1;
        int child = ForkProcess();
        if (child != 0)
        {
            // Until it is through with what a fork does in it.
            if (Read(ends[0], ref one, 1) != 1)
                throw new InvalidOperationException("the child has not come to its work");
            return child;
        }
        const int DieWithParent = 1, Kill = 9;
        SetProcess(DieWithParent, Kill);
        Write(ends[1], in one, 1);
        // A sigset_t has 128 bytes.
        Span<ulong> mask = stackalloc ulong[16];
        mask.Clear();
        mask[0] = 1UL << (15 - 1);  // SIGTERM
        BlockSignals(0, in mask[0], 0);
        WaitForSignal(in mask[0], out _);
        Exit(0);
        return 0;
    }

    [LibraryImport("libc", EntryPoint = "fork")]
    private static partial int ForkProcess();

    [LibraryImport("libc", EntryPoint = "pipe")]
    private static partial int MakePipe(ref int ends);

    [LibraryImport("libc", EntryPoint = "read")]
    private static partial nint Read(int descriptor, ref byte bytes, nint count);

    [LibraryImport("libc", EntryPoint = "write")]
    private static partial nint Write(int descriptor, in byte bytes, nint count);

    [LibraryImport("libc", EntryPoint = "prctl")]
    private static partial int SetProcess(int option, nint value);

    [LibraryImport("libc", EntryPoint = "pthread_sigmask")]
    private static partial int BlockSignals(int how, in ulong mask, nint before);

    [LibraryImport("libc", EntryPoint = "sigwait")]
    private static partial int WaitForSignal(in ulong mask, out int signal);

    [LibraryImport("libc", EntryPoint = "exit")]
    private static partial void Exit(int code);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Tree MakeTree(int branches)
    {
        var shared = new Shared();
        var tree = new Tree { Branches = new Branch[branches] };
        for (int i = 0; i < branches; i++)
            tree.Branches[i] = new Branch { Payload = new byte[100], Shared = shared };
        return tree;
    }

    // The branches have references to what is gone then. A method of its own, whose frame is no root any more.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void DeletePayloads(int branches)
    {
        for (int i = 0; i < branches; i++)
            Heap.Delete(s_tree!.Branches[i].Payload);
    }

    // What a dump must not be confused by.
    private static void ChangeForEver()
    {
        var random = new Random(1);
        var kept = new Branch?[10_000];
        var shared = new Shared();
        while (true)
        {
            ref Branch? place = ref kept[random.Next(kept.Length)];
            if (place is not null)
            {
                Heap.Delete(place.Payload);
                Heap.Delete(place);
            }
            place = new Branch { Payload = new byte[random.Next(300)], Shared = shared };
        }
    }

    private static Tree? s_tree;

    private sealed class Tree
    {
        public required Branch[] Branches { get; init; }
    }

    private sealed class Branch
    {
        public required byte[] Payload { get; init; }

        public required Shared Shared { get; init; }
    }

    private sealed class Shared
    {
        public long Number { get; set; }
    }

    private sealed class Lost
    {
        private readonly long[] _content = new long[20];

        public int Length => _content.Length;
    }
}
