using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Compiler.Fixtures;

/// <summary>Numbers that are made of references: those of methods whose name begins with Unpinned are to be warned of.</summary>
public static unsafe class Numbers
{
    private static nint s_kept;
    private static int s_number = 0;

    /// <summary>A raw pointer of what nothing pins.</summary>
    public static byte UnpinnedPointer(byte[] array) => *(byte*)Unsafe.AsPointer(ref array[0]);

    /// <summary>It is kept.</summary>
    public static void UnpinnedField(Span<byte> span) => s_kept = (nint)Unsafe.AsPointer(ref MemoryMarshal.GetReference(span));

    /// <summary>It leaves the method.</summary>
    public static nint UnpinnedResult(byte[] array) => (nint)Unsafe.AsPointer(ref MemoryMarshal.GetArrayDataReference(array));

    /// <summary>It is handed on.</summary>
    public static void UnpinnedArgument(byte[] array) => Marshal.WriteByte((nint)Unsafe.AsPointer(ref array[3]), 1);

    /// <summary>One of two ways is not harmless.</summary>
    public static long UnpinnedBranches(byte[] array, bool which)
    {
        nint address = (nint)Unsafe.AsPointer(ref array[0]);
        return which ? address % 16 : *(byte*)address;
    }

    /// <summary>The reference itself is read as a number.</summary>
    public static nint UnpinnedReinterpreted(object value) => Unsafe.As<object, nint>(ref value);

    /// <summary>The same through a pointer to the local.</summary>
    public static nint UnpinnedLocal(object value)
    {
#pragma warning disable CS8500 // the point
        return *(nint*)&value;
#pragma warning restore CS8500
    }

    /// <summary>A field of an object of the heap.</summary>
    public static int UnpinnedFieldOfObject(StrongBox<int> box) => *(int*)Unsafe.AsPointer(ref box.Value);

    /// <summary>Pinned.</summary>
    public static byte Fixed(byte[] array)
    {
        fixed (byte* pointer = array)
        {
            return pointer[1];
        }
    }

    /// <summary>On the stack.</summary>
    public static int Local()
    {
        int local = 5;
        int* pointer = &local;
        return *pointer + *(int*)Unsafe.AsPointer(ref local);
    }

    /// <summary>On the stack: the pointer is one already.</summary>
    public static int OfStackalloc(int count)
    {
        int* pointer = stackalloc int[count];
        return *(int*)Unsafe.AsPointer(ref pointer[2]) + (int)((int*)Unsafe.AsPointer(ref *pointer) - pointer);
    }

    /// <summary>A span does not say where it leads.</summary>
    public static int UnpinnedSpanOfStack(int count)
    {
        Span<int> span = stackalloc int[count];
        return *(int*)Unsafe.AsPointer(ref span[0]);
    }

    /// <summary>Static fields of numbers are outside the heap.</summary>
    public static int StaticField() => *(int*)Unsafe.AsPointer(ref s_number);

    /// <summary>Data of the executable.</summary>
    public static ReadOnlySpan<byte> Data() => [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

    /// <summary>Only the alignment.</summary>
    public static bool Alignment(byte[] array, int size)
    {
        nint address = (nint)Unsafe.AsPointer(ref array[0]);
        return (address & 15) == 0 && address % size == 1;
    }

    /// <summary>Null or not.</summary>
    public static bool Null(ref byte place) => Unsafe.AsPointer(ref place) == null;

    /// <summary>Cut to 32 bits.</summary>
    public static int Hash(ref byte place) => (int)((nint)Unsafe.AsPointer(ref place) >> 4) * 31;

    /// <summary>A field of a ref struct.</summary>
    public ref struct OnStack
    {
        private int _value = 0;

        public OnStack()
        {
        }

        /// <summary>This is on the stack.</summary>
        public int Read() => *(int*)Unsafe.AsPointer(ref _value);
    }
}
