using System.Runtime.CompilerServices;

namespace System.Runtime;

public static unsafe partial class FreeholdRuntime
{
    /// <summary>The index of an entry of <c>SyncTable</c> whose object is deleted; zero when there is none.</summary>
    [RuntimeImport("*", "freehold_take_dead_lock")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern int TakeDeadLock();
}
