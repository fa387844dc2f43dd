using System.Runtime.Importing;

namespace System.Runtime.CompilerServices;

[Framework]
internal static unsafe class Unsafe
{
    public static extern T As<T>(object obj);

    [Replacement]
    public static void* AsPointer<T>(ref T value) => FreeholdRuntime.CurrentPointer(ref Il.Bytes(ref value));

    [Replacement]
    public static bool AreSame<T>(ref T left, ref T right) => FreeholdRuntime.SameReference(ref Il.Bytes(ref left), ref Il.Bytes(ref right));

    [Replacement]
    public static bool IsAddressLessThan<T>(ref T left, ref T right) => FreeholdRuntime.ReferenceLess(ref Il.Bytes(ref left), ref Il.Bytes(ref right));

    [Replacement]
    public static bool IsAddressGreaterThan<T>(ref T left, ref T right) => FreeholdRuntime.ReferenceGreater(ref Il.Bytes(ref left), ref Il.Bytes(ref right));

    [Replacement]
    public static bool IsAddressLessThanOrEqualTo<T>(ref T left, ref T right) => !FreeholdRuntime.ReferenceGreater(ref Il.Bytes(ref left), ref Il.Bytes(ref right));

    [Replacement]
    public static bool IsAddressGreaterThanOrEqualTo<T>(ref T left, ref T right) => !FreeholdRuntime.ReferenceLess(ref Il.Bytes(ref left), ref Il.Bytes(ref right));

    [Replacement]
    public static nint ByteOffset<T>(ref T origin, ref T target) => FreeholdRuntime.ReferenceOffset(ref Il.Bytes(ref origin), ref Il.Bytes(ref target));
}
