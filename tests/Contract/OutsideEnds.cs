using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Threads that native code starts and ends: after managed code has run on them they leave by <c>pthread_exit</c>, or are cancelled, while others are stopped and everything moves.</summary>
internal static unsafe partial class Outside
{
    private const int UserSignal = 10;

    private static int s_entered;

    public static IEnumerable<Case> Ends() =>
    [
        new("outside-ends-by-exit", _ => WhileStopping(() => EndThreads(cancel: false))),
        new("outside-ends-by-cancel", _ => WhileStopping(() => EndThreads(cancel: true))),
        new("outside-signalfd", _ => WhileStopping(() => RunNative(&ReadSignals))),
        new("outside-sigwait", _ => WhileStopping(() => RunNative(&WaitForSignals))),
        new("outside-processes-of-threads", _ => WhileStopping(ProcessesOfThreads)),
    ];

    [DllImport("libc")]
    private static extern int pthread_cancel(nint thread);

    [DllImport("libc")]
    private static extern int signalfd(int file, SignalSet* set, int flags);

    [DllImport("libc")]
    private static extern int sigwait(SignalSet* set, int* signal);

    [DllImport("libc")]
    private static extern nint pthread_self();

    [DllImport("libc")]
    private static extern int pthread_kill(nint thread, int signal);

    [DllImport("libc")]
    private static extern nint read(int file, byte[] buffer, nint size);

    [DllImport("libc")]
    private static extern int close(int file);

    [DllImport("libc", EntryPoint = "mmap")]
    private static extern byte* MapCode(void* address, nuint size, int protection, int flags, int file, nint offset);

    /// <summary>What the native frame of a thread calls: managed code first, then native code.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct Steps
    {
        public delegate* unmanaged<void*, void*> First;
        public void* FirstArgument;
        public void* Second;
        public void* SecondArgument;
    }

    // Somebody stops all threads all the time.
    private static void WhileStopping(Action work) => WhileMoving(() =>
    {
        bool stop = false;
        var stopper = new Thread(() =>
        {
            while (!Volatile.Read(ref stop))
            {
                Heap.Reclaim();
                Heap.Compact();
                Thread.Yield();
            }
        });
        stopper.Start();
        try
        {
            work();
        }
        finally
        {
            Volatile.Write(ref stop, true);
            stopper.Join();
        }
    });

    // void* start(Steps* steps) { steps->First(steps->FirstArgument); while (true) steps->Second(steps->SecondArgument); }: a native frame below which there is no managed one.
    private static delegate* unmanaged<void*, void*> NativeFrame()
    {
        ReadOnlySpan<byte> code =
        [
            0x53,                    // push rbx
            0x48, 0x89, 0xFB,        // mov rbx, rdi
            0x48, 0x8B, 0x7B, 0x08,  // mov rdi, [rbx + 8]
            0xFF, 0x13,              // call [rbx]
            0x48, 0x8B, 0x7B, 0x18,  // mov rdi, [rbx + 24]
            0xFF, 0x53, 0x10,        // call [rbx + 16]
            0xEB, 0xF7,              // jmp to the second mov rdi: a signal ends pause()
        ];
        const int ReadWriteExecute = 7, PrivateAnonymous = 0x22;
        byte* page = MapCode(null, 4096, ReadWriteExecute, PrivateAnonymous, -1, 0);
        Expect.True(page != (byte*)-1);
        code.CopyTo(new Span<byte>(page, 4096));
        return (delegate* unmanaged<void*, void*>)page;
    }

    [UnmanagedCallersOnly]
    private static void* Enter(void* argument) => Guard(() =>
    {
        ReadAll(1);
        Interlocked.Increment(ref s_entered);
    });

    private static void EndThreads(bool cancel)
    {
        const int Rounds = 25, Threads = 6;
        delegate* unmanaged<void*, void*> frame = NativeFrame();
        nint libc = NativeLibrary.Load("libc.so.6");
        // In pause() a thread can be cancelled. In managed code none can: the unwinding of a cancellation knows no managed frames, with any collector.
        Steps* steps = (Steps*)NativeMemory.AllocZeroed((nuint)sizeof(Steps));
        *steps = new()
        {
            First = &Enter,
            Second = (void*)NativeLibrary.GetExport(libc, cancel ? "pause" : "pthread_exit"),
            SecondArgument = (void*)(cancel ? 0 : 77),
        };
        nint* threads = stackalloc nint[Threads];
        for (int round = 0; round < Rounds; round++)
        {
            Volatile.Write(ref s_entered, 0);
            for (int i = 0; i < Threads; i++)
                Expect.Equal(0, CreateThread(&threads[i], frame, steps));
            while (cancel && Volatile.Read(ref s_entered) + Volatile.Read(ref s_failures) < Threads)
                Thread.Yield();
            for (int i = 0; i < Threads; i++)
            {
                if (cancel)
                    Expect.Equal(0, pthread_cancel(threads[i]));
                void* result;
                Expect.Equal(0, pthread_join(threads[i], &result));
                Expect.Equal(cancel ? -1 : 77, (nint)result);
            }
            ReadAll(1);
        }
        NativeMemory.Free(steps);
    }

    private static int CreateThread(nint* thread, delegate* unmanaged<void*, void*> start, void* argument) => pthread_create(thread, null, start, argument);

    private static void BlockAllSignals()
    {
        var all = new SignalSet { First = ulong.MaxValue };
        Expect.Equal(0, pthread_sigmask(SetMask, &all, null));
    }

    // The buffer is an array that moves between two reads.
    [UnmanagedCallersOnly]
    private static void* ReadSignals(void* argument) => Guard(() =>
    {
        const int SizeOfInfo = 128;
        BlockAllSignals();
        var wanted = new SignalSet { First = 1UL << (UserSignal - 1) };
        int file = signalfd(-1, &wanted, 0);
        Expect.True(file >= 0);
        for (int i = 0; i < 50; i++)
        {
            var info = new byte[SizeOfInfo];
            Expect.Equal(0, pthread_kill(pthread_self(), UserSignal));
            Expect.Equal(SizeOfInfo, read(file, info, SizeOfInfo));
            Expect.Equal(UserSignal, BitConverter.ToInt32(info));
            ReadAll(1);
            Heap.Delete(info);
        }
        _ = close(file);
    });

    [UnmanagedCallersOnly]
    private static void* WaitForSignals(void* argument) => Guard(() =>
    {
        BlockAllSignals();
        var wanted = new SignalSet { First = ulong.MaxValue & ~Kept };
        for (int i = 0; i < 50; i++)
        {
            int signal;
            Expect.Equal(0, pthread_kill(pthread_self(), UserSignal));
            do
                Expect.Equal(0, sigwait(&wanted, &signal));
            while (signal != UserSignal && Preempts);
            Expect.Equal(UserSignal, signal);
            ReadAll(1);
        }
    });

    // SIGSTKFLT is sent to any thread then, also to one that waits for it.
    private static bool Preempts => Environment.GetEnvironmentVariable("FREEHOLD_STRESS")?.Contains("preempt", StringComparison.Ordinal) ?? false;

    private static void ProcessesOfThreads()
    {
        Exception? failure = null;
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(number => new Thread(() =>
        {
            try
            {
                for (int i = 0; i < 6; i++)
                {
                    var start = new ProcessStartInfo("/bin/echo", [$"{number} {i}"]) { RedirectStandardOutput = true };
                    using Process process = Process.Start(start)!;
                    Expect.Equal($"{number} {i}\n", process.StandardOutput.ReadToEnd());
                    process.WaitForExit();
                    Expect.Equal(0, process.ExitCode);
                    ReadAll(1);
                }
            }
            catch (Exception exception)
            {
                failure = exception;
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Expect.True(failure is null, failure?.ToString());
    }
}
