using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>Whether two references name one object or one place, and which of two places is the lower: in line where no name of a promoted copy, whose bit 31 is set, takes part.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>Whether two references name one object. References, not numbers, are passed: while the function runs no thread is stopped, before it both are made current if one is.</summary>
    [RuntimeImport("*", "freehold_is_same")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern bool IsSameObject(object left, object right);

    /// <summary>Whether two references name one place in an object.</summary>
    [RuntimeImport("*", "freehold_is_same")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern bool IsSameReference(ref byte left, ref byte right);

    /// <summary><c>left - right</c>, by the names that both have at one moment.</summary>
    [RuntimeImport("*", "freehold_difference")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern nint CurrentDifference(ref byte left, ref byte right);

    /// <summary>Where a place is now, as native code needs it.</summary>
    [RuntimeImport("*", "freehold_current_address")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern void* CurrentPointer(ref byte place);

    /// <summary><c>left == right</c>, of objects.</summary>
    /// <remarks>The JIT lays out the target of a branch next to it: so each branch leads to what a loop does most often.</remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool SameObject(object left, object right)
    {
        if (left == right)
        {
            return true;
        }

        if ((int)(Il.Number(left) | Il.Number(right)) < 0)
        {
            return IsSameObject(left, right);
        }

        return false;
    }

    /// <summary>
    /// <c>left == right</c> where the answer is returned. No branch for the answer, and in a method that does only this three blocks: with more of them the JIT would give
    /// the method a frame.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool SameObjectValue(object left, object right)
    {
        if ((int)(Il.Number(left) | Il.Number(right)) < 0)
        {
            return IsSameObject(left, right);
        }

        return left == right;
    }

    /// <summary><c>left == right</c>, of places.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool SameReference(ref byte left, ref byte right)
    {
        if (Il.Equal(ref left, ref right))
        {
            return true;
        }

        if ((int)(Il.Number(ref left) | Il.Number(ref right)) < 0)
        {
            return IsSameReference(ref left, ref right);
        }

        return false;
    }

    /// <summary><c>left &lt; right</c>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool ReferenceLess(ref byte left, ref byte right)
    {
        if ((int)(Il.Number(ref left) | Il.Number(ref right)) < 0)
        {
            return CurrentDifference(ref left, ref right) < 0;
        }

        return Il.Less(ref left, ref right);
    }

    /// <summary><c>left &gt; right</c>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static bool ReferenceGreater(ref byte left, ref byte right)
    {
        if ((int)(Il.Number(ref left) | Il.Number(ref right)) < 0)
        {
            return CurrentDifference(ref left, ref right) > 0;
        }

        return Il.Greater(ref left, ref right);
    }

    /// <summary><c>left - right</c>.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static nint ReferenceDifference(ref byte left, ref byte right)
    {
        if ((int)(Il.Number(ref left) | Il.Number(ref right)) < 0)
        {
            return CurrentDifference(ref left, ref right);
        }

        return Il.Subtract(ref left, ref right);
    }

    /// <summary><c>target - origin</c>, as <c>Unsafe.ByteOffset</c> has them.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static nint ReferenceOffset(ref byte origin, ref byte target)
    {
        if ((int)(Il.Number(ref origin) | Il.Number(ref target)) < 0)
        {
            return CurrentDifference(ref target, ref origin);
        }

        return Il.Subtract(ref target, ref origin);
    }

    /// <summary><c>target - origin</c> where both are derived from one reference.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static nint DerivedOffset(ref byte origin, ref byte target) => Il.Subtract(ref target, ref origin);

    /// <summary>The source of a move, under the name of the destination if both overlap.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static ref byte SourceOfMove(ref byte destination, ref byte source, nuint size)
    {
        nint distance = CurrentDifference(ref source, ref destination);
        if ((nuint)distance + size < size << 1)
        {
            return ref Il.Add(ref destination, distance);
        }

        return ref source;
    }

    /// <summary>A move whose names may be of different kinds. A call in tail position: who moves gets no frame by it.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void MemmoveNamed(ref byte destination, ref byte source, nuint size) => Buffer.MoveByReference(ref destination, ref SourceOfMove(ref destination, ref source, size), size);

    /// <summary>A move of references, likewise. The one that goes from chunk to chunk must not be called for less than one.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void BulkMoveWithWriteBarrierNamed(ref byte destination, ref byte source, nuint size)
    {
        source = ref SourceOfMove(ref destination, ref source, size);
        if (size <= Buffer.Chunk)
        {
            Buffer.MoveOfReferences(ref destination, ref source, size);
        }
        else
        {
            Buffer.MoveOfReferencesInChunks(ref destination, ref source, size);
        }
    }
}
