using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Differential.Programs;

/// <summary>Native code that calls back: function pointers, delegates, exceptions beside them.</summary>
internal static partial class NativeCallbacks
{
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int Comparison(nint left, nint right);

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern void SortByDelegate([In, Out] long[] values, nuint count, nuint size, Comparison comparison);

    [DllImport("libc", EntryPoint = "qsort")]
    private static extern unsafe void SortByPointer(int* values, nuint count, nuint size, delegate* unmanaged[Cdecl]<int*, int*, int> comparison);

    [DllImport("libc", EntryPoint = "bsearch")]
    private static extern unsafe int* Search(int* key, int* values, nuint count, nuint size, delegate* unmanaged[Cdecl]<int*, int*, int> comparison);

    private static int s_calls;

    [ThreadStatic]
    private static List<string>? t_garbage;

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static unsafe int Compare(int* left, int* right)
    {
        s_calls++;
        // Allocation inside of a reverse P/Invoke.
        (t_garbage ??= []).Add("call " + s_calls % 7);
        if (t_garbage.Count > 100)
            t_garbage.Clear();
        return left->CompareTo(*right);
    }

    public static unsafe void Run()
    {
        var random = new Random(13);
        long[] longs = [.. Enumerable.Range(0, 5_000).Select(_ => random.NextInt64())];
        int compared = 0;
        Comparison comparison = (left, right) =>
        {
            compared++;
            return Marshal.ReadInt64(left).CompareTo(Marshal.ReadInt64(right));
        };
        SortByDelegate(longs, (nuint)longs.Length, 8, comparison);
        GC.KeepAlive(comparison);
        Console.WriteLine(longs.SequenceEqual(longs.Order()) + " " + (compared > 5_000));
        int[] ints = [.. Enumerable.Range(0, 8_000).Select(_ => random.Next())];
        fixed (int* pointer = ints)
        {
            SortByPointer(pointer, (nuint)ints.Length, 4, &Compare);
            int key = ints[1_234];
            int* found = Search(&key, pointer, (nuint)ints.Length, 4, &Compare);
            Console.WriteLine(*found == key);
        }
        var sum = new Checksum();
        foreach (int value in ints)
            sum.Add(value);
        Console.WriteLine(sum + " " + (s_calls > 8_000));
        nint raw = Marshal.GetFunctionPointerForDelegate(comparison);
        var back = Marshal.GetDelegateForFunctionPointer<Comparison>(raw);
        long one = 1, two = 2;
        Console.WriteLine(back((nint)(&one), (nint)(&two)) + " " + ReferenceEquals(back, comparison));
        var handle = GCHandle.Alloc(new List<string> { "held" });
        var thread = new Thread(state => ((List<string>)GCHandle.FromIntPtr((nint)state!).Target!).Add("from thread"));
        thread.Start(GCHandle.ToIntPtr(handle));
        thread.Join();
        Console.WriteLine(string.Join(',', (List<string>)handle.Target!));
        handle.Free();
    }
}
