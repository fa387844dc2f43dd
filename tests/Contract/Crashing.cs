using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>
/// Faults that are not the heap's: they end the process as they do in .NET. The test looks at the exit code. And two cases that end with an
/// exception that nobody catches.
/// </summary>
internal static partial class Crashing
{
    // An address of user space where nothing is mapped, far from the heap, which begins at 16 TB.
    private static readonly nint Wild = unchecked((nint)0x0834_5678_0000);

    public static IEnumerable<Case> All()
    {
        yield return new("crash-native-null", _ => memset(0, 1, 100));
        yield return new("crash-native-wild", _ => memset(Wild, 1, 100));
        yield return new("crash-managed-wild", _ => Write(Wild));
        yield return new("crash-managed-wild-read-in-heap", _ => Read(InHeap(4L << 40)));
        yield return new("crash-managed-wild-write-in-heap", _ => Write(InHeap(4L << 40)));
        yield return new("crash-managed-wild-above-heap", _ => Read(InHeap(45L << 40)));
        yield return new("crash-native-wild-in-heap", _ => memset(InHeap(4L << 40), 1, 100));
        yield return new("crash-native-gone", _ => NativeGone());
        yield return new("crash-unhandled-dangling", _ => Unhandled());
        yield return new("crash-stack-overflow", _ => Console.WriteLine(Overflow(1)));
        yield return new("crash-out-of-memory", _ => HoardWhileThrowing());
        yield return new("crash-fail-fast", _ => Environment.FailFast("on purpose"));
        yield return new("exit-under-load", arguments => ExitUnderLoad(int.Parse(arguments[0]), fromThread: false));
        yield return new("exit-under-load-from-thread", arguments => ExitUnderLoad(int.Parse(arguments[0]), fromThread: true));
    }

    [LibraryImport("libc")]
    private static partial nint memset(nint target, int value, nuint count);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe void Write(nint address) => *(int*)address = 5;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static unsafe void Read(nint address) => Console.WriteLine(*(int*)address);

    // Among the heap's addresses, where no object ever was.
    private static unsafe nint InHeap(long distance)
    {
        byte[] item = new byte[1_000];
        fixed (byte* pointer = item)
            return (nint)(pointer + distance);
    }

    // Native code that keeps a pointer after unpinning is outside the contract (12): it must not hang, whatever else it does.
    private static unsafe void NativeGone()
    {
        var neighbours = new Neighbours<byte[]>(i => new byte[5_000], 5_024);
        nint address;
        fixed (byte* pointer = neighbours.Victim)
            address = (nint)pointer;
        neighbours.Release();
        memset(address, 1, 100);
    }

    private static void Unhandled()
    {
        Subject gone = Neighbours<Subject>.Gone(i => new Subject(i), 120);
        var thread = new Thread(() => Console.WriteLine(gone.Value));
        thread.Start();
        thread.Join();
    }

    // Eight threads allocate, delete and make the heap work, and go on doing so while the process ends.
    private static void ExitUnderLoad(int milliseconds, bool fromThread)
    {
        const int ExitCode = 3, Threads = 8;
        for (int i = 0; i < Threads; i++)
        {
            int number = i;
            new Thread(() =>
            {
                while (true)
                {
                    var items = new List<object>();
                    for (int j = 0; j < 3_000; j++)
                        items.Add(new byte[100 + j % 7]);
                    items.ForEach(Heap.Delete);
                    Action[] work = [GC.Collect, () => Heap.Compact(), () => Heap.Reclaim(), () => Heap.Delete(new byte[5_000_000])];
                    if (number < work.Length)
                        work[number]();
                }
            })
            { IsBackground = true }.Start();
        }
        Thread.Sleep(milliseconds);
        if (!fromThread)
            Environment.Exit(ExitCode);
        var thread = new Thread(() => Environment.Exit(ExitCode));
        thread.Start();
        thread.Join();
    }

    // What the handler holds on to leaves no memory for the exception that it causes itself. Needs a limit of the heap.
    private static void HoardWhileThrowing()
    {
        object?[]? hoard = null;
        AppDomain.CurrentDomain.FirstChanceException += (_, _) => Hoard();
        Hoard();

        void Hoard()
        {
            while (true)
                hoard = [hoard, new byte[1_000]];
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Overflow(int depth)
    {
        Span<long> local = stackalloc long[64];
        local[depth % 64] = depth;
        return depth < 0 ? 0 : Overflow(depth + 1) + (int)local[depth % 64];
    }
}
