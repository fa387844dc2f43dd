using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>What happens to a reference that was stored into a pinned local.</summary>
public static unsafe partial class FreeholdRuntime
{
    private const uint DeletedBit = 1;
    private const uint PageMask = 0xFFF;

    /// <summary>Notes the pin of an object; gives where it lies now and stays.</summary>
    [RuntimeImport("*", "freehold_pin")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern object PinObject(object reference);

    /// <summary>The same of a place.</summary>
    [RuntimeImport("*", "freehold_pin")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern ref byte PinReference(ref byte reference);

    /// <summary>Assembly Freehold makes the exception for a dangling reference.</summary>
    [RuntimeImport("*", "FreeholdCreateDanglingReference")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern Exception CreateDanglingReference();

    /// <summary>Throws when an object is deleted, by a ref, which a stop keeps current. The deleted bit, not just the page: an object over two pages may have lost only the second.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void TouchObject(object reference)
    {
        if (reference != null && (Il.Word(ref Il.Layout(reference).m_pEEType, 2 * sizeof(uint)) & DeletedBit) != 0)
        {
            ThrowDanglingReference();
        }
    }

    /// <summary>Reads one byte where the pin gave another address, which faults when it is nobody's any more.</summary>
    /// <remarks>
    /// The ref of an empty span may point one past the end of an object. Then the byte before it belongs to the object, and is on the same page
    /// unless the ref is at the start of one: nothing is read there, as that page may be another's, dead or not mapped.
    /// A load whose result is dropped is only a null check to the JIT, and it removes those of addresses that it knows not to be null (a
    /// string's first character, say), volatile or not. It knows nothing about a masked address, which lies on the same page.
    /// </remarks>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void TouchReference(ref byte before, ref byte now)
    {
        if (!Il.Equal(ref before, ref now) && (Il.Number(ref now) & PageMask) != 0)
        {
            Il.Drop(*(byte*)(Il.Number(ref now) & unchecked((nuint)(nint)(-8))));
        }
    }

    // Never inlined: the touches are, and only this call of theirs stays out of line.
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void ThrowDanglingReference() => throw CreateDanglingReference();
}
