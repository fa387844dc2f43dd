using System.Runtime.Importing;
using Internal.Runtime;

namespace System.Runtime.CompilerServices;

[Framework]
internal static unsafe class RuntimeHelpers
{
    internal static extern ref MethodTable* GetMethodTableRef(object obj);

    internal static extern bool IsKnownConstant(char t);

    public static extern bool IsReferenceOrContainsReferences<T>();
}
