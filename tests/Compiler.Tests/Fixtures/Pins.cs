using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Compiler.Fixtures;

/// <summary>Every form of <c>fixed</c> that the C# compiler translates differently.</summary>
public static unsafe class Pins
{
    /// <summary>A field to pin.</summary>
    public static int Field;

    /// <summary>A pinned array local, and two stores: the array and null.</summary>
    public static byte Array(byte[] array)
    {
        fixed (byte* pointer = array)
        {
            return *pointer;
        }
    }

    /// <summary>A string is pinned by a ref to its first character.</summary>
    public static char String(string text)
    {
        fixed (char* pointer = text)
        {
            return *pointer;
        }
    }

    /// <summary>A span, by GetPinnableReference.</summary>
    public static byte Span(Span<byte> span)
    {
        fixed (byte* pointer = span)
        {
            return pointer == null ? (byte)0 : *pointer;
        }
    }

    /// <summary>A ref that may be one past the end.</summary>
    public static byte Reference(Span<byte> span)
    {
        fixed (byte* pointer = &MemoryMarshal.GetReference(span))
        {
            return span.IsEmpty ? (byte)0 : *pointer;
        }
    }

    /// <summary>A static field.</summary>
    public static int StaticField()
    {
        fixed (int* pointer = &Field)
        {
            return *pointer;
        }
    }

    /// <summary>The store is the target of a branch, and the method has a handler around it.</summary>
    public static byte Branches(byte[] left, byte[] right, bool which)
    {
        try
        {
            fixed (byte* pointer = which ? left : right)
            {
                return *pointer;
            }
        }
        catch (InvalidOperationException)
        {
            return 1;
        }
    }

    /// <summary>No pin: must not change.</summary>
    public static int Nothing(int value) => value + 1;

    /// <summary>A pointer made of a ref leads to what the pinned one leads to, also when it comes back from a call.</summary>
    public static long Pointer(Span<byte> span)
    {
        fixed (byte* pinned = span)
        {
            byte* pointer = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(span));
            Advance(&pointer);
            return pointer - pinned;
        }
    }

    /// <summary>A pointer to the stack stays as it is; one that may lead to the heap does not.</summary>
    public static nint PointerOfLocal(ref int reference, bool which)
    {
        int local = 1;
        return (nint)Unsafe.AsPointer(ref local) + (nint)Unsafe.AsPointer(ref which ? ref local : ref reference);
    }

    private static void Advance(byte** pointer) => ++*pointer;
}
