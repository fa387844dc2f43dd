using System.Runtime.CompilerServices;

namespace System.Runtime;

/// <summary>
/// The static class that CoreLib gets for what the passes call. It is public, since rewritten application code calls into it too; nothing compiles against it, as no
/// reference assembly has it. A part of it is in the file of its pass.
/// </summary>
public static unsafe partial class FreeholdRuntime
{
    /// <summary>Deletes an object that CoreLib itself owns and that has no finalizer left to run.</summary>
    [RuntimeImport("*", "freehold_delete")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern int Delete(object obj);
}
