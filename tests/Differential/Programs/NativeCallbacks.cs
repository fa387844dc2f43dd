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
        CallNativeDelegates(random);
    }

    private delegate void Sort([In, Out] int[] values, nuint count, nuint size, Comparison comparison);

    private delegate nint Copy(ref Pair target, in Pair source, nuint size);

    private delegate nint Fill(out long target, int value, nuint size);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl, CharSet = CharSet.Unicode)]
    private delegate int CompareWide(string left, string right, nuint size);

    private delegate int CompareNarrow(string left, [MarshalAs(UnmanagedType.LPUTF8Str)] string right);

    private record struct Pair(int Left, long Right);

    // What is marshalled differently: arrays, refs and wide texts by their address, others as copies.
    private static void CallNativeDelegates(Random random)
    {
        nint libc = NativeLibrary.Load("libc.so.6");
        T Of<T>(string name) => Marshal.GetDelegateForFunctionPointer<T>(NativeLibrary.GetExport(libc, name));
        Sort sort = Of<Sort>("qsort");
        Copy copy = Of<Copy>("memcpy");
        Fill fill = Of<Fill>("memset");
        CompareWide wide = Of<CompareWide>("memcmp");
        CompareNarrow narrow = Of<CompareNarrow>("strcmp");
        Comparison comparison = (left, right) => Marshal.ReadInt32(left).CompareTo(Marshal.ReadInt32(right));
        var pairs = new Pair[50];
        for (int round = 0; round < 50; round++)
        {
            int[] values = [.. Enumerable.Range(0, 500).Select(_ => random.Next())];
            sort(values, (nuint)values.Length, 4, comparison);
            copy(ref pairs[round], new Pair(values[0], round), 16);
            fill(out long filled, round, 8);
            string text = "text " + round, same = "text " + round;
            Console.WriteLine($"{values.SequenceEqual(values.Order())} {pairs[round].Left == values[0]} {pairs[round].Right} {filled:x} {wide(text, same, (nuint)text.Length * 2)} {narrow(text, same)} {Math.Sign(narrow(text, "text"))}");
        }
        try
        {
            narrow.DynamicInvoke("text", 1);
        }
        catch (ArgumentException exception)
        {
            Console.WriteLine(exception.GetType().Name);
        }
        Console.WriteLine(narrow.DynamicInvoke("text", "text"));
    }
}
