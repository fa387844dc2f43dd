using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Threads that the runtime has not started, masks and stacks that native code sets, processes that fork, descriptors that somebody closes.</summary>
internal static unsafe partial class Outside
{
    // In debug mode each has pages of its own.
    private static readonly int Items = DebugMode.IsOn ? 300 : 20_000;

    private static Subject[] s_items = [];
    private static volatile bool s_stop;
    private static int s_failures;

    public static IEnumerable<Case> All() =>
    [
        new("outside-blocked-before", _ => WhileMoving(() => RunNative(&Sum, block: true))),
        new("outside-blocked-later", _ => WhileMoving(() => RunNative(&BlockAndSum))),
        new("outside-blocked-by-sigprocmask", _ => WhileMoving(BlockByOtherName)),
        new("outside-mask-is-kept", _ => MaskIsKept()),
        new("outside-small-stack", _ => WhileMoving(() => RunNative(&Sum, stack: 64 << 10))),
        new("outside-alternate-stack", _ => WhileMoving(() => RunNative(&SumWithAlternateStack))),
        new("outside-many-threads", _ => WhileMoving(ManyThreads)),
        new("outside-processes", _ => WhileMoving(Processes)),
        new("outside-fork", _ => Forks(underLoad: false)),
        new("outside-fork-under-load", _ => Forks(underLoad: true)),
        new("outside-fork-while-marking", _ => ForksWhileMarking()),
        new("outside-fork-of-fork", _ => ForkOfFork()),
        new("outside-fork-suppressed", _ => WhileMoving(ForkSuppressed)),
        new("outside-fork-in-suppressed", _ => ForkInSuppressed()),
        new("outside-descriptors-closed", _ => DescriptorsClosed(inChild: false)),
        new("outside-descriptors-closed-by-daemon", _ => DescriptorsClosed(inChild: true)),
    ];

    [StructLayout(LayoutKind.Explicit, Size = 128)]
    private struct SignalSet
    {
        [FieldOffset(0)]
        public ulong First;
    }

    [StructLayout(LayoutKind.Sequential)]
    private struct Stack
    {
        public void* Start;
        public int Flags;
        public nuint Size;
    }

    [DllImport("libc")]
    private static extern int pthread_sigmask(int how, SignalSet* set, SignalSet* before);

    [DllImport("libc")]
    private static extern int sigprocmask(int how, SignalSet* set, SignalSet* before);

    [DllImport("libc")]
    private static extern int sigaltstack(Stack* stack, Stack* before);

    [DllImport("libc")]
    private static extern int pthread_attr_init(void* attributes);

    [DllImport("libc")]
    private static extern int pthread_attr_setstacksize(void* attributes, nuint size);

    [DllImport("libc")]
    private static extern int pthread_create(nint* thread, void* attributes, delegate* unmanaged<void*, void*> start, void* argument);

    [DllImport("libc")]
    private static extern int pthread_join(nint thread, void** result);

    [DllImport("libc")]
    private static extern int fork();

    [DllImport("libc", EntryPoint = "fork")]
    [SuppressGCTransition]
    private static extern int ForkWithoutTransition();

    [DllImport("libc")]
    [SuppressGCTransition]
    private static extern void _exit(int code);

    [DllImport("libc")]
    private static extern int waitpid(int process, int* status, int options);

    [DllImport("libc")]
    private static extern int close_range(uint first, uint last, int flags);

    [DllImport("libc")]
    private static extern int posix_spawn(int* process, byte* path, void* actions, void* attributes, byte** arguments, byte** environment);

    private const int Block = 0, SetMask = 2;
    private const ulong Kept = (1UL << 6) | (1UL << 10) | (1UL << 33);  // SIGBUS, SIGSEGV and SIGRTMIN, by which the runtime stops threads

    // Fresh items at sparse places, so that promotion moves them.
    private static void Renew()
    {
        var items = new Subject[Items];
        var between = new Subject[Items * 2];
        for (int i = 0; i < Items; i++)
        {
            items[i] = new Subject(i);
            between[2 * i] = new Subject(i);
            between[(2 * i) + 1] = new Subject(i);
        }
        Subject[] before = s_items;
        s_items = items;
        foreach (Subject item in between)
            Heap.Delete(item);
        Heap.Delete(between);
        Heap.Compact();
        GC.KeepAlive(before);  // others may still read it: forgotten, not deleted
    }

    private static void WhileMoving(Action work)
    {
        s_stop = false;
        Renew();
        Exception? failure = null;
        var worker = new Thread(() =>
        {
            try
            {
                work();
            }
            catch (Exception exception)
            {
                failure = exception;
            }
            finally
            {
                s_stop = true;
            }
        });
        worker.Start();
        for (int i = 0; !s_stop || i < 3; i++)
        {
            Renew();
            if (i % 8 == 0)
                GC.Collect();
        }
        worker.Join();
        Expect.True(failure is null, failure?.ToString());
        Expect.Equal(0, s_failures);
    }

    // All that native threads run is caught: an exception that left them would end the process without a word.
    private static void* Guard(Action action)
    {
        try
        {
            action();
        }
        catch (Exception exception)
        {
            Console.Error.WriteLine(exception);
            Interlocked.Increment(ref s_failures);
        }
        return null;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ReadAll(int rounds)
    {
        for (int round = 0; round < rounds; round++)
        {
            Subject[] items = s_items;
            for (int i = 0; i < items.Length; i++)
            {
                if (items[i].Value != i)
                    throw new ContractException($"item {i} says {items[i].Value}");
            }
            var own = new Subject(round);
            Expect.Equal(round * 2, own.Twice());
            Heap.Delete(own);
        }
    }

    [UnmanagedCallersOnly]
    private static void* Sum(void* argument) => Guard(() => ReadAll(100));

    [UnmanagedCallersOnly]
    private static void* SumOnce(void* argument) => Guard(() => ReadAll(1));

    // As for a signalfd: a thread that the runtime knows blocks all signals.
    [UnmanagedCallersOnly]
    private static void* BlockAndSum(void* argument) => Guard(() =>
    {
        var all = new SignalSet { First = ulong.MaxValue };
        Expect.Equal(0, pthread_sigmask(SetMask, &all, null));
        ReadAll(10);
    });

    [UnmanagedCallersOnly]
    private static void* SumWithAlternateStack(void* argument) => Guard(() =>
    {
        // As small as the kernel allows one, then none, then one again that is not there.
        const int Disabled = 2, Minimum = 4096;
        byte* memory = (byte*)NativeMemory.Alloc(Minimum);
        for (int i = 0; i < 30; i++)
        {
            var stack = new Stack { Start = i % 3 == 2 ? (void*)0x10000 : memory, Flags = i % 3 == 1 ? Disabled : 0, Size = Minimum };
            Expect.Equal(0, sigaltstack(&stack, null));
            ReadAll(5);
        }
        var none = new Stack { Flags = Disabled };
        sigaltstack(&none, null);
        NativeMemory.Free(memory);
    });

    private static nint Start(delegate* unmanaged<void*, void*> body, int stack = 0)
    {
        byte* attributes = stackalloc byte[64];
        pthread_attr_init(attributes);
        if (stack != 0)
            Expect.Equal(0, pthread_attr_setstacksize(attributes, (nuint)stack));
        nint thread;
        Expect.Equal(0, pthread_create(&thread, attributes, body, null));
        return thread;
    }

    private static void RunNative(delegate* unmanaged<void*, void*> body, bool block = false, int stack = 0)
    {
        SignalSet all = new() { First = ulong.MaxValue }, before = default;
        // The new thread has this one's mask; SIGSEGV and SIGBUS cannot be blocked from here, they are in it all the same when the kernel starts it.
        if (block)
            SetMaskOfKernel(all.First, out before.First);
        nint thread = Start(body, stack);
        if (block)
            SetMaskOfKernel(before.First, out _);
        pthread_join(thread, null);
    }

    [DllImport("libc", EntryPoint = "syscall")]
    private static extern long SetMaskOfKernel(long number, int how, ulong* mask, ulong* before, nuint size);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void SetMaskOfKernel(ulong mask, out ulong before)
    {
        const long SigProcMask = 14;
        ulong old;
        Expect.Equal(0L, SetMaskOfKernel(SigProcMask, SetMask, &mask, &old, sizeof(ulong)));
        before = old;
    }

    private static void BlockByOtherName()
    {
        SignalSet all = new() { First = ulong.MaxValue }, before;
        Expect.Equal(0, sigprocmask(Block, &all, &before));
        ReadAll(10);
        Expect.Equal(0, sigprocmask(SetMask, &before, null));
        ReadAll(10);
    }

    // Whatever else a program blocks is blocked, and told of.
    private static void MaskIsKept()
    {
        SignalSet some = new() { First = (1UL << 9) | (1UL << 11) | Kept }, before, now;
        Expect.Equal(0, pthread_sigmask(SetMask, &some, &before));
        Expect.Equal(0, pthread_sigmask(Block, null, &now));
        Expect.Equal((1UL << 9) | (1UL << 11), now.First);
        const int Unblock = 1;
        some.First = 1UL << 9;
        Expect.Equal(0, sigprocmask(Unblock, &some, &now));
        Expect.Equal((1UL << 9) | (1UL << 11), now.First);
        Expect.Equal(0, sigprocmask(SetMask, &before, &now));
        Expect.Equal(1UL << 11, now.First);
        Expect.Equal(22, pthread_sigmask(17, &some, null));
        Expect.Equal(-1, sigprocmask(17, &some, null));
    }

    private static void ManyThreads()
    {
        nint* threads = stackalloc nint[8];
        for (int i = 0; i < 10; i++)
        {
            for (int j = 0; j < 8; j++)
                threads[j] = Start(&SumOnce, j % 2 == 0 ? 0 : 128 << 10);
            for (int j = 0; j < 8; j++)
                pthread_join(threads[j], null);
        }
    }


    private static void Processes()
    {
        byte[] path = "/bin/true\0"u8.ToArray();
        byte** arguments = stackalloc byte*[2];
        for (int i = 0; i < 15; i++)
        {
            using (Process process = Process.Start("/bin/true"))
            {
                process.WaitForExit();
                Expect.Equal(0, process.ExitCode);
            }
            fixed (byte* name = path)
            {
                arguments[0] = name;
                arguments[1] = null;
                int child;
                Expect.Equal(0, posix_spawn(&child, name, null, null, arguments, null));
                Expect.Equal(0, Wait(child));
            }
            ReadAll(3);
        }
    }

    private static int Wait(int child)
    {
        int status = -1;
        Expect.Equal(child, waitpid(child, &status, 0));
        return status;
    }

    // In the child: nothing reads as zero, objects come and go, everything that the heap offers works.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int LiveOn(Subject deleted, int number)
    {
        try
        {
            ReadAll(2);
            for (int i = 0; i < 3; i++)
            {
                int value;
                try
                {
                    value = deleted.Value;
                }
                catch (DanglingReferenceException)
                {
                    value = number;
                }
                Expect.Equal(number, value);
            }
            Renew();
            ReadAll(2);
            Heap.Compact();
            ReadAll(1);
            Heap.Reclaim();
            GC.Collect();
            ReadAll(1);
            var large = new byte[5_000_000];
            large[^1] = 1;
            Heap.Delete(large);
            string[] texts = [.. Enumerable.Range(0, 10_000).Select(i => i.ToString())];
            Expect.Equal("9999", texts[^1]);
            Heap.Verify();
            return 0;
        }
        catch (Exception exception)
        {
            Console.Error.WriteLine("in the child: " + exception);
            return 1;
        }
    }

    private static void ForkOnce()
    {
        const int Number = 77;
        Subject deleted = Gone(Number);
        int child = fork();
        if (child == 0)
            _exit(LiveOn(deleted, Number));
        Expect.True(child > 0);
        int status = Wait(child);
        Expect.True(status == 0, $"the child ended with {status >> 8}, signal {status & 127}");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject Gone(int value)
    {
        var neighbours = new Neighbours<Subject>(i => new Subject(value), 120);
        neighbours.Release();
        return neighbours.Victim;
    }

    private static void Forks(bool underLoad)
    {
        if (!underLoad)
        {
            for (int i = 0; i < 5; i++)
            {
                Renew();
                ForkOnce();
                ReadAll(1);
            }
            return;
        }
        Renew();
        s_stop = false;
        Exception? failure = null;
        Thread[] threads = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            try
            {
                // Bounded: where every address is searched for before it is used again, garbage without end outruns the search.
                for (int round = 0; !s_stop; round++)
                {
                    ReadAll(1);
                    if (round >= 100)
                        continue;
                    object[] churn = [.. Enumerable.Range(0, 1_000).Select(i => new byte[i])];
                    foreach (object item in churn)
                        Heap.Delete(item);
                }
            }
            catch (Exception exception)
            {
                failure = exception;
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        for (int i = 0; i < 3; i++)
            ForkOnce();
        s_stop = true;
        Array.ForEach(threads, thread => thread.Join());
        Expect.True(failure is null, failure?.ToString());
    }

    // The child has no marker, and forgets what the parent's was doing.
    private static void ForksWhileMarking()
    {
        object? list = null;
        for (int i = 0; i < 20_000; i++)
            list = new object?[] { list };
        Renew();
        s_stop = false;
        var marker = new Thread(() =>
        {
            while (!s_stop)
            {
                for (int i = 0; i < 1_000; i++)
                    _ = new byte[1_000];
                Heap.Reclaim();
            }
        });
        marker.Start();
        for (int i = 0; i < 5; i++)
            ForkOnce();
        s_stop = true;
        marker.Join();
        int count = 0;
        for (object? item = list; item is not null; item = ((object?[])item)[0])
            count++;
        Expect.Equal(20_000, count);
        ReadAll(2);
    }

    private static void ForkOfFork()
    {
        Renew();
        Subject deleted = Gone(5);
        int child = fork();
        if (child == 0)
        {
            int grandchild = fork();
            if (grandchild == 0)
                _exit(LiveOn(deleted, 5));
            _exit(grandchild > 0 && Wait(grandchild) == 0 ? LiveOn(deleted, 5) : 2);
        }
        Expect.Equal(0, Wait(child));
        ReadAll(2);
    }

    // Without a transition nobody can be stopped: the child only ends.
    private static void ForkSuppressed()
    {
        for (int i = 0; i < 20; i++)
        {
            int child = ForkWithoutTransition();
            if (child == 0)
                _exit(0);
            Expect.Equal(0, Wait(child));
            ReadAll(1);
        }
    }

    // Nor can that child stop anybody: its parent's threads are not there, and some of them were running managed code.
    private static void ForkInSuppressed()
    {
        bool end = false;
        int turns = 0;
        var spinning = new Thread(() =>
        {
            while (!Volatile.Read(ref end))
                turns++;
        });
        spinning.Start();
        Expect.Eventually(() => Volatile.Read(ref turns) > 1);
        Heap.Verify();
        _ = alarm(0);
        Expect.Equal(0, Wait(Ended(fork())));
        for (int i = 0; i < 5; i++)
        {
            int child = ForkWithoutTransition();
            if (child == 0)
            {
                _ = alarm(60);
                int grandchild = Ended(fork());
                bool ends = grandchild > 0 && Wait(grandchild) == 0;
                try
                {
                    Heap.Verify();
                }
                catch (InvalidOperationException)
                {
                    // Other threads were in the middle of what they did: only the end of the call is looked at.
                }

                _exit(ends ? 0 : 1);
            }

            Expect.Equal(0, Wait(child));
        }

        Volatile.Write(ref end, true);
        spinning.Join();
    }

    private static int Ended(int child)
    {
        if (child == 0)
            _exit(0);
        return child;
    }

    [DllImport("libc")]
    private static extern uint alarm(uint seconds);

    private static void CloseAllDescriptors()
    {
        Expect.Equal(0, close_range(3, uint.MaxValue, 0));
        // And something else under each number.
        for (int i = 0; i < 1_000; i++)
            _ = dup(1);
    }

    [DllImport("libc")]
    private static extern int dup(int file);

    private static void DescriptorsClosed(bool inChild)
    {
        Renew();
        Subject deleted = Gone(9);
        int child = inChild ? fork() : 0;
        if (child == 0)
        {
            CloseAllDescriptors();
            int code = 0;
            for (int i = 0; i < 5 && code == 0; i++)
                code = LiveOn(deleted, 9);
            deleted = Gone(10);
            code += LiveOn(deleted, 10);
            if (inChild)
                _exit(code);
            Expect.Equal(0, code);
        }
        else
        {
            Expect.Equal(0, Wait(child));
            ReadAll(2);
        }
    }
}
