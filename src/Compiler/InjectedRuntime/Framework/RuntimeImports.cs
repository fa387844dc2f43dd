using System.Runtime.Importing;

namespace System.Runtime;

[Framework]
internal static unsafe class RuntimeImports
{
    /// <summary>An empty cell is answered in line: most reads of dead weak references need no call. It also keeps the caller small enough to inline.</summary>
    [Replacement]
    internal static object RhHandleGet(nint handle)
    {
        if (*(nint*)handle != 0)
        {
            return FreeholdRuntime.HandleGet(handle);
        }

        return null;
    }

    /// <summary>Null twice when the primary is deleted.</summary>
    [Replacement]
    internal static object RhHandleGetDependent(nint handle, out object secondary)
    {
        if (RhHandleGet(handle) == null)
        {
            secondary = null;
            return null;
        }

        return FreeholdRuntime.HandleGetDependent(handle, out secondary);
    }
}
