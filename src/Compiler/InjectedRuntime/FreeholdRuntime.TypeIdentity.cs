using System.Reflection.Runtime.TypeInfos;
using System.Runtime.CompilerServices;
using Internal.Runtime;

namespace System.Runtime;

/// <summary>Type objects: those of class <c>RuntimeType</c> are frozen, others may have several names.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>Like <c>Type.GetTypeFromMethodTableSlow</c>, of a type without a MethodTable.</summary>
    internal static RuntimeType NewRuntimeType(RuntimeTypeInfo info)
    {
        RuntimeType type = FrozenObjectHeapManager.Instance.TryAllocateObject<RuntimeType>();
        if (type == null)
        {
            throw new OutOfMemoryException();
        }

        type.Construct(info);
        return type;
    }

    /// <summary>Equality of two types that are not null and no <c>RuntimeType</c>.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static bool SameType(Type left, Type right) => IsSameObject(left, right) || left.Equals(right);
}
