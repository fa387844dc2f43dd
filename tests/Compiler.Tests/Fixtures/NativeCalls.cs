using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Compiler.Fixtures;

/// <summary>Calls whose marshalling code the compiler makes.</summary>
public static unsafe class NativeCalls
{
    /// <summary>A delegate is no address of managed memory.</summary>
    public delegate void Callback();

    /// <summary>An array.</summary>
    [DllImport("libc")]
    public static extern int Array(int[] array, int count);

    /// <summary>A string, a ref and an out; everything that the marshaller reads.</summary>
    [DllImport("libc", EntryPoint = "other_name", SetLastError = true)]
    [return: MarshalAs(UnmanagedType.Bool)]
    public static extern bool References([MarshalAs(UnmanagedType.LPStr)] string text, in int from, out long to);

    /// <summary>Values for callers that give none.</summary>
    [DllImport("libc")]
    public static extern int Defaults([MarshalAs(UnmanagedType.LPUTF8Str)] string text = "none", int count = 3);

    /// <summary>A class that has a layout.</summary>
    [DllImport("libc")]
    public static extern void Layout(Time time);

    /// <summary>No reference: must not change.</summary>
    [DllImport("libc")]
    public static extern void Pointer(byte* pointer, nint value, IntPtr handle);

    /// <summary>Must not change.</summary>
    [DllImport("libc")]
    public static extern void Delegate(Callback callback);

    /// <summary>A text that is not copied.</summary>
    [DllImport("libc", CharSet = CharSet.Unicode)]
    public static extern int Wide(string text);

    /// <summary>A text that is: no address of it gets out.</summary>
    [DllImport("libc")]
    public static extern int Copied(string text);

    /// <summary>Holds the array.</summary>
    public static int CallArray(int[] array) => Array(array, 3);

    /// <summary>Holds the refs; the text is copied.</summary>
    public static bool CallReferences(string text, ref int from, out long to) => References(text, in from, out to);

    /// <summary>Holds the object.</summary>
    public static void CallLayout(Time time) => Layout(time);

    /// <summary>Holds the text.</summary>
    public static int CallWide(string text) => Wide(text);

    /// <summary>Lets go of each array.</summary>
    public static int CallInLoop(int[][] arrays)
    {
        int sum = 0;
        foreach (int[] array in arrays)
        {
            sum += Array(array, array.Length);
        }

        return sum;
    }

    /// <summary>The array is held elsewhere, or the stack would grow.</summary>
    public static int CallBeforeTailCall(int[] array, int times)
    {
        Array(array, times);
        return times == 0 ? 0 : CallBeforeTailCall(array, times - 1);
    }

    /// <summary>Must not change.</summary>
    public static unsafe void CallNothing(byte* pointer, Callback callback)
    {
        Pointer(pointer, 0, 0);
        Delegate(callback);
        Copied("text");
    }

    /// <summary>Is marked as native.</summary>
    public static NativeArray MakeDelegate() => Array;

    /// <summary>Calls of such a delegate pin nothing: the method that it is made of does.</summary>
    public static Func<int[], int, int> MakeGenericDelegate() => Array;

    /// <summary>Holds the array: the accessor leads to a P/Invoke.</summary>
    public static int CallAccessor(Importer importer, int[] array) => Accessor(importer, array) + 1;

    [UnsafeAccessor(UnsafeAccessorKind.StaticMethod, Name = "Private")]
    private static extern int Accessor(Importer importer, int[] array);

    /// <summary>Whose method a P/Invoke implements.</summary>
    public interface IImporter
    {
        /// <summary>Callers do not know that it is one.</summary>
        static abstract int Sum(int[] array);
    }

    /// <summary>Two P/Invokes that no call names.</summary>
    public sealed class Importer : IImporter
    {
        /// <summary>Implements the interface.</summary>
        [DllImport("libc")]
        public static extern int Sum(int[] array);

        [DllImport("libc")]
        private static extern int Private(int[] array);
    }

    /// <summary>Variable arguments.</summary>
    public static int Variable(string text, __arglist) => text.Length;

    /// <summary>Another one of this name.</summary>
    public static long Variable(long number, __arglist) => number;

    /// <summary>Calls both.</summary>
    public static long CallVariable(object one, object other) => Variable("", __arglist(1, "")) + Variable(1, __arglist(2.0)) + (one == other ? 1 : 0);

    /// <summary>As <see cref="Array"/>.</summary>
    public delegate int NativeArray(int[] array, int count);

    /// <summary>An unmanaged function with a ref.</summary>
    public static int Call(delegate* unmanaged[Cdecl]<ref int, int, int> function, ref int value) => function(ref value, 3);

    /// <summary>Must not change.</summary>
    public static int CallOfPointers(delegate* unmanaged<int*, int> function, int* value) => function(value);

    /// <summary>Generic: so is the method that holds the array.</summary>
    public static int CallGeneric<T>(delegate* unmanaged<T[], int, int> function, T[] values)
        where T : unmanaged => function(values, sizeof(T));

    /// <summary>A generic type.</summary>
    public static class In<TFirst>
        where TFirst : unmanaged
    {
        /// <summary>Generic parameters of both.</summary>
        public static TFirst Call<TSecond>(delegate* unmanaged<ref TFirst, TSecond, TFirst> function, ref TFirst value)
            where TSecond : unmanaged => function(ref value, default);
    }

    /// <summary>A class that is passed by its address.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public sealed class Time
    {
        /// <summary>A field.</summary>
        public long Seconds;
    }
}
