using System.Reflection;
using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>Arrays that collections outgrow. A program that reads or writes private fields of collections by reflection keeps them.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>A collection has stored another array, and has the old one no more.</summary>
    [RuntimeImport("*", "FreeholdOutgrown")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern void Outgrown(Array old, Array now, int elementSize);

    /// <summary>An old array may be anywhere: none is noted any more.</summary>
    [RuntimeImport("*", "FreeholdKeepOutgrown")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    public static extern void KeepOutgrown();

    /// <summary>What <c>FieldInfo.GetValue</c> has read. Whoever has the array of a collection may keep it, or give it to another collection.</summary>
    internal static object ReadByReflection(object value, FieldInfo field)
    {
        KeepIfOfCollection(value, field);
        return value;
    }

    /// <summary>What <c>FieldInfo.SetValue</c> is to write. The program has the array too, whatever the collection does with it.</summary>
    internal static void WrittenByReflection(object value, FieldInfo field) => KeepIfOfCollection(value, field);

    /// <summary>The fields that <c>TypedReference.MakeTypedReference</c> goes along. Through the last one the program reads and writes without anybody's knowledge.</summary>
    internal static void ReferredToByReflection(FieldInfo[] fields)
    {
        if (fields != null && fields.Length > 0 && fields[fields.Length - 1] is { } last && last.FieldType.IsArray && IsOfCollection(last))
        {
            KeepOutgrown();
        }
    }

    private static bool IsOfCollection(FieldInfo field) =>
        !field.IsStatic && !field.IsPublic && field.DeclaringType.Namespace is { } name && name.StartsWith("System.Collections", StringComparison.Ordinal);

    private static void KeepIfOfCollection(object value, FieldInfo field)
    {
        if (value is Array && IsOfCollection(field))
        {
            KeepOutgrown();
        }
    }
}
