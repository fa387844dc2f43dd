using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;

namespace Freehold.Differential.Programs;

/// <summary>Managed code below native frames below managed code, several deep: exceptions are caught before each border, carried over it and thrown on.</summary>
internal static unsafe partial class ThrowingCallbacks
{
    private sealed class Stop(string message, object cause) : Exception(message)
    {
        public object Cause { get; } = cause;
    }

    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    private delegate int Compare(int* left, int* right);

    [LibraryImport("libc", EntryPoint = "qsort")]
    private static partial void SortBy(int* values, nuint count, nuint size, delegate* unmanaged[Cdecl]<int*, int*, int> compare);

    [LibraryImport("libc", EntryPoint = "qsort")]
    private static partial void SortByDelegate(int* values, nuint count, nuint size, Compare compare);

    [ThreadStatic]
    private static ExceptionDispatchInfo? t_carried;

    [ThreadStatic]
    private static int t_depth;

    [ThreadStatic]
    private static int t_finallies;

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static int Deeper(int* left, int* right)
    {
        try
        {
            Step();
        }
        catch (Exception exception)
        {
            // Nothing may leave through the native frame.
            t_carried ??= ExceptionDispatchInfo.Capture(exception);
        }
        return left->CompareTo(*right);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Step()
    {
        object[] held = [new byte[500], "held " + t_depth, t_depth];
        t_depth++;
        try
        {
            if (t_depth == 12)
                throw new Stop("at the bottom", held);
            Call();
        }
        catch (Stop stop) when (Note(stop))
        {
            throw new InvalidOperationException("never");
        }
        finally
        {
            t_depth--;
            t_finallies++;
            Manual.Delete(held[0]);
        }
        if ((string)held[1] != "held " + t_depth)
            throw new InvalidOperationException("a local changed");
    }

    private static bool Note(Stop stop)
    {
        Manual.Delete(new byte[1_000]);
        return ((object[])stop.Cause)[2] is not int;
    }

    private static void Call()
    {
        int* values = stackalloc int[2] { 2, 1 };
        SortBy(values, 2, 4, &Deeper);
        ExceptionDispatchInfo? carried = t_carried;
        t_carried = null;
        carried?.Throw();
    }

    public static void Run()
    {
        Once("main");
        var texts = new string[6];
        Parallel.For(0, texts.Length, new ParallelOptions { MaxDegreeOfParallelism = 6 }, i => texts[i] = Many(i));
        Console.WriteLine(string.Join('\n', texts));
        ByDelegate();
        OfDestructors();
    }

    private static void Once(string name)
    {
        t_finallies = 0;
        try
        {
            Call();
            Console.WriteLine("nothing");
        }
        catch (Stop stop)
        {
            object[] cause = (object[])stop.Cause;
            int frames = stop.StackTrace!.Split('\n').Count(line => line.Contains(nameof(Step)));
            Console.WriteLine($"{name} {stop.Message} {cause[1]} {cause[2]} finallies {t_finallies} frames {frames}");
        }
    }

    private static string Many(int thread)
    {
        int caught = 0, finallies = 0;
        for (int i = 0; i < 40; i++)
        {
            t_finallies = 0;
            try
            {
                Call();
            }
            catch (Stop stop) when (stop.Cause is object[] { Length: 3 })
            {
                caught++;
                finallies += t_finallies;
            }
        }
        return $"{thread}: {caught} {finallies}";
    }

    private static void ByDelegate()
    {
        int thrown = 0;
        int[] values = [.. Enumerable.Range(0, 300).Select(i => i * 37 % 301)];
        Exception? first = null;
        Compare compare = (left, right) =>
        {
            try
            {
                if ((*left + *right) % 5 == 0)
                    throw new Stop("five", values);
            }
            catch (Stop stop)
            {
                first ??= stop;
                thrown++;
            }
            return left->CompareTo(*right);
        };
        fixed (int* pointer = values)
            SortByDelegate(pointer, (nuint)values.Length, 4, compare);
        GC.KeepAlive(compare);
        Console.WriteLine(values.SequenceEqual(values.Order()) + " " + (thrown > 10) + " " + first!.Message + " " + ReferenceEquals(((Stop)first).Cause, values));
    }

    [LibraryImport("libc", EntryPoint = "pthread_key_create")]
    private static partial int CreateKey(out uint key, delegate* unmanaged[Cdecl]<nint, void> destructor);

    [LibraryImport("libc", EntryPoint = "pthread_setspecific")]
    private static partial int SetSpecific(uint key, nint value);

    private static int s_destroyed;

    [UnmanagedCallersOnly(CallConvs = [typeof(CallConvCdecl)])]
    private static void Destroy(nint handle)
    {
        Interlocked.Increment(ref s_destroyed);
        NativeMemory.Free((void*)handle);
    }

    // Freed by native code when each thread ends, without managed code.
    private static void OfDestructors()
    {
        nint free = NativeLibrary.GetExport(NativeLibrary.Load("libc.so.6"), "free");
        int error = CreateKey(out uint key, (delegate* unmanaged[Cdecl]<nint, void>)free);
        Thread[] threads = [.. Enumerable.Range(0, 10).Select(i => new Thread(() =>
        {
            error += SetSpecific(key, (nint)NativeMemory.Alloc(10));
            for (int n = 0; n < 100; n++)
                Manual.Delete(new byte[i * 100]);
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        ((delegate* unmanaged[Cdecl]<nint, void>)&Destroy)((nint)NativeMemory.Alloc(1));
        Console.WriteLine(error + " " + s_destroyed);
    }
}
