using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>What handles refer to.</summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>What a handle refers to, null for a weak handle whose target is deleted.</summary>
    [RuntimeImport("*", "freehold_handle_get")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern object HandleGet(nint handle);

    /// <summary>What the runtime does, for a handle whose primary is not deleted.</summary>
    [RuntimeImport("*", "RhHandleGetDependent")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern object HandleGetDependent(nint handle, out object secondary);
}
