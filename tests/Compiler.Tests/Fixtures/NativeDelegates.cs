using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Freehold.Compiler.Fixtures;

/// <summary>Calls of delegates that could be native functions.</summary>
public static class NativeDelegates
{
    /// <summary>An array, a ref, and a text that is copied.</summary>
    public delegate int Numbers(int[] array, ref long number, string copied);

    /// <summary>A text that is not copied.</summary>
    [UnmanagedFunctionPointer(CallingConvention.Cdecl, CharSet = CharSet.Unicode)]
    public delegate void Wide(string text);

    /// <summary>One of these texts is not copied.</summary>
    public delegate void Marked([MarshalAs(UnmanagedType.LPWStr)] string text, [MarshalAs(UnmanagedType.LPUTF8Str)] string copied);

    /// <summary>Everything is copied, or is no address.</summary>
    public delegate void Copied(string text, string[] texts, ref string reference, object[] objects, ref Named named, nint number);

    /// <summary>The marshaller refuses the object.</summary>
    public delegate void Refused(object context, ref long number);

    /// <summary>The marshaller refuses the span, not the pair.</summary>
    public delegate void RefusedSpan(KeyValuePair<int, int> pair, ReadOnlySpan<byte> span, out int written);

    /// <summary>No native function has such a type.</summary>
    public delegate void Generic<T>(T[] array);

    /// <summary>Is called in a method that holds the arguments.</summary>
    public static int CallNumbers(Numbers function, int[] array, ref long number) => function(array, ref number, "text");

    /// <summary>The same method again.</summary>
    public static int CallNumbersTwice(Numbers function, int[] array, ref long number) => function(array, ref number, "a") + function(array, ref number, "b");

    /// <summary>Is called in a method that holds the text.</summary>
    public static void CallWide(Wide function, string text) => function(text);

    /// <summary>Is called in a method that holds the first text.</summary>
    public static void CallMarked(Marked function, string text) => function(text, text);

    /// <summary>Must not change.</summary>
    public static void CallCopied(Copied function, string[] texts, ref Named named) => function("", texts, ref texts[0], texts, ref named, 0);

    /// <summary>Must not change.</summary>
    public static void CallRefused(Refused function, ref long number) => function("", ref number);

    /// <summary>Must not change.</summary>
    public static void CallRefusedSpan(RefusedSpan function, out int written) => function(default, default, out written);

    /// <summary>Must not change.</summary>
    public static void CallGeneric(Generic<int> function, int[] array) => function(array);

    /// <summary>Is marked as native, as its target may be.</summary>
    public static Numbers MakeOfDelegate(Numbers function) => new(function);

    /// <summary>Must not change: a method of this name, but not a delegate's.</summary>
    public static void CallOther(Other other, int[] array) => other.Invoke(array);

    /// <summary>In a generic type.</summary>
    public static class In<T>
    {
        /// <summary>Is called in a method of this type.</summary>
        public static int Call(Numbers function, int[] array, ref long number) => function(array, ref number, typeof(T).Name);
    }

    /// <summary>Holds a reference.</summary>
    public struct Named
    {
        /// <summary>A field.</summary>
        public string Name;
    }

    /// <summary>Not a delegate.</summary>
    public sealed class Other
    {
        /// <summary>Not a delegate's.</summary>
        public void Invoke(int[] array) => array[0]++;
    }
}
