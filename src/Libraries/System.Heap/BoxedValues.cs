using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace System;

/// <summary>Comparison of two boxed values of one type by their contents. Takes no lock; fields that other threads change meanwhile are compared as they are met.</summary>
internal static unsafe class BoxedValues
{
    // What NativeAOT's MethodTable says (src/Allocator/core/object.h and references.h have the same): flags and size at its start, references before it.
    private const int HasReferences = 0x1000000;
    private const int HeaderAndType = 16;
    private const int Word = 8;

    /// <summary>
    /// In place of the runtime's <c>RhCompareObjectContentsAndPadding</c>, which compares references as numbers: two of them may be names of one object.
    /// Both boxes hold values of the same type; their padding is compared too, as the runtime does.
    /// </summary>
    [RuntimeExport("FreeholdSameContents")]
    internal static bool HaveSameContents(object left, object right)
    {
        ref byte first = ref Unsafe.As<Box>(left).Data, second = ref Unsafe.As<Box>(right).Data;
        byte* type = (byte*)Unsafe.As<byte, nint>(ref Unsafe.Subtract(ref first, sizeof(nint)));
        int size = *(int*)(type + 4) - HeaderAndType;
        if ((*(int*)type & HasReferences) == 0)
        {
            return MemoryMarshal.CreateReadOnlySpan(ref first, size).SequenceEqual(MemoryMarshal.CreateReadOnlySpan(ref second, size));
        }

        for (int offset = 0; offset < size; offset += Word)
        {
            ref byte one = ref Unsafe.Add(ref first, offset), other = ref Unsafe.Add(ref second, offset);
            bool same = IsReference((long*)type, size, offset)
                ? ReferenceEquals(Unsafe.As<byte, object>(ref one), Unsafe.As<byte, object>(ref other))
                : Unsafe.As<byte, long>(ref one) == Unsafe.As<byte, long>(ref other);
            if (!same)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Whether the word at this offset of the value is a reference: whether one of the series lies over it. Only arrays are described otherwise.</summary>
    private static bool IsReference(long* type, int size, int offset)
    {
        for (long series = type[-1]; series > 0; series--)
        {
            // The size is less than the truth by that of the object; the offset counts from the object, its type being the first word.
            long start = type[-2 * series] - Word, bytes = type[-2 * series - 1] + size + HeaderAndType;
            if (offset >= start && offset < start + bytes)
            {
                return true;
            }
        }

        return false;
    }

    private sealed class Box
    {
        public byte Data;
    }
}
