using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace System;

/// <summary>
/// The entry points of the native heap, generated from src/Allocator/runtime/abi.inc, and what managed code exports to each other. They exist only in a program published with Freehold:
/// every caller is behind <see cref="Heap.IsManual"/>.
/// </summary>
/// <remarks>
/// They are imported by name, as the framework imports its runtime: a plain call, without a change of the thread's mode. A P/Invoke with
/// SuppressGCTransition would do the same, but CoreCLR looks such a library up when it compiles a caller, even one that never calls.
/// </remarks>
internal static unsafe partial class NativeHeap
{
    /// <summary>Whether the object was deleted, without a fault. False for what is not in the heap.</summary>
    internal static bool IsDeleted(object obj) => IsDeletedOrGone(obj) != 0;

    /// <summary>Whether the caller is to run the finalizer.</summary>
    internal static bool ClaimFinalizer(object obj) => ClaimFinalizerOf(obj) != 0;

    /// <summary>Injected into CoreLib by the rewriter: calls <see cref="OwnedParts.Add"/> for all that the object owns.</summary>
    [RuntimeImport("*", "FreeholdCollectParts")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void CollectParts(object obj);

    internal static ObjectHistory TakeHistory()
    {
        ObjectHistory history;
        TakeHistory(&history);
        return history;
    }

    /// <summary>What <see cref="ReleaseSyncEntry"/> answers; the numbers are those of src/Compiler/InjectedRuntime/Framework/SyncTable.cs.</summary>
    internal enum LockRelease
    {
        Released = 0,
        Postponed = 1,
        AlreadyPostponed = 2,
    }

    /// <summary>Injected into CoreLib by the rewriter: frees the object's entry of the runtime's table of locks; or marks the object, when the lock is in use.</summary>
    [RuntimeImport("*", "FreeholdReleaseSyncEntry")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern LockRelease ReleaseSyncEntry(object obj, bool again);

    /// <summary>Injected too: frees the entries of objects that a search has deleted. The finalizer thread does so by itself, later.</summary>
    [RuntimeImport("*", "FreeholdReleaseDeadLocks")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void ReleaseDeadLocks();

    /// <summary>The factory that the rewritten CoreLib calls when the fault handler reports a dangling reference. What it returns is thrown at the use.</summary>
    [RuntimeExport("FreeholdCreateDanglingReference")]
    internal static Exception CreateDanglingReference()
    {
        try
        {
            return new DanglingReferenceException(TakeHistory());
        }
        catch (OutOfMemoryException exception)
        {
            // The runtime cannot unwind from here to the instruction that faulted.
            return exception;
        }
    }
}
