using System;
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
