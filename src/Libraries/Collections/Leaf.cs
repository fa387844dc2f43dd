using System;
using System.Runtime.CompilerServices;

namespace Freehold.Collections;

/// <summary>How many elements a leaf has: the largest power of two whose array, with its header, is no larger than 32 KB.</summary>
internal static class Leaf<T>
{
    /// <summary>Of an array: the word before the object, its type and its length.</summary>
    internal const int ArrayOverhead = 24;

    /// <summary>Above 32 KB an object has pages of its own: the heap's small objects end there.</summary>
    internal const int MostBytes = (32 << 10) - ArrayOverhead;

    /// <summary>The binary logarithm of <see cref="Length"/>; negative when not even one element fits.</summary>
    /// <remarks>A chain of comparisons of constants, which the compiler folds; a logarithm it does not fold everywhere.</remarks>
    internal static int Shift
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get
        {
            int size = Unsafe.SizeOf<T>();
            return size <= MostBytes >> 14 ? 14
                : size <= MostBytes >> 13 ? 13
                : size <= MostBytes >> 12 ? 12
                : size <= MostBytes >> 11 ? 11
                : size <= MostBytes >> 10 ? 10
                : size <= MostBytes >> 9 ? 9
                : size <= MostBytes >> 8 ? 8
                : size <= MostBytes >> 7 ? 7
                : size <= MostBytes >> 6 ? 6
                : size <= MostBytes >> 5 ? 5
                : size <= MostBytes >> 4 ? 4
                : size <= MostBytes >> 3 ? 3
                : size <= MostBytes >> 2 ? 2
                : size <= MostBytes >> 1 ? 1
                : size <= MostBytes ? 0
                : -1;
        }
    }

    /// <summary>Elements of a leaf.</summary>
    internal static int Length
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => 1 << Shift;
    }

    /// <summary>The bits of an index that say where in its leaf an element is.</summary>
    internal static int Mask
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => (1 << Shift) - 1;
    }

    /// <summary>Whole leaves whose indexes are numbers, and that three levels can hold: an addition asks for room only at the end of a leaf.</summary>
    internal static int MostElements => (int)Math.Min(int.MaxValue & ~Mask, (long)Length << (2 * Directory.Shift));

    /// <summary>Throws when not even one element fits into a leaf.</summary>
    internal static void RequireFits()
    {
        if (Shift < 0)
        {
            throw new NotSupportedException(
                $"An element of {typeof(T)} has {Unsafe.SizeOf<T>()} bytes, and a leaf of a tree at most {MostBytes}. Make it a class, or keep references to such elements.");
        }
    }

    /// <summary>Leaves that so many elements need.</summary>
    internal static int CountFor(int elements) => (int)(((long)elements + Mask) >> Shift);
}
