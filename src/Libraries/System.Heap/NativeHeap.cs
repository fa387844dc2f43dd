using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace System;

/// <summary>
/// The entry points of the native heap (src/Allocator/runtime/abi.h). They exist only in a program published with Freehold:
/// every caller is behind <see cref="Heap.IsManual"/>.
/// </summary>
/// <remarks>
/// They are imported by name, as the framework imports its runtime: a plain call, without a change of the thread's mode. A P/Invoke with
/// SuppressGCTransition would do the same, but CoreCLR looks such a library up when it compiles a caller, even one that never calls.
/// </remarks>
internal static unsafe partial class NativeHeap
{
    [RuntimeImport("*", "freehold_delete")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern DeleteResult Delete(object? obj);

    // As Delete, after the finalizer has run: never asks for it again.
    [RuntimeImport("*", "freehold_delete_finalized")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern DeleteResult DeleteFinalized(object? obj);

    // As DeleteFinalized, when the caller sees to the parts too: never asks for them again.
    [RuntimeImport("*", "freehold_delete_itself")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern DeleteResult DeleteItself(object? obj);

    // As Delete, but a second deletion is not counted as one.
    [RuntimeImport("*", "freehold_delete_part")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern DeleteResult DeletePart(object? obj);

    // Whether the object was deleted, without a fault. False for what is not in the heap.
    [RuntimeImport("*", "freehold_is_deleted")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    private static extern int FreeholdIsDeleted(object obj);

    internal static bool IsDeleted(object obj) => FreeholdIsDeleted(obj) != 0;

    /// <summary>Injected into CoreLib by the rewriter: calls <see cref="OwnedParts.Add"/> for all that the object owns.</summary>
    [RuntimeImport("*", "FreeholdCollectParts")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void CollectParts(object obj);

    // Around a finalizer: deletions of its object that it makes itself are for the deletion that runs it.
    [RuntimeImport("*", "freehold_begin_finalizer")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void BeginFinalizer(RunningFinalizer* running);

    [RuntimeImport("*", "freehold_end_finalizer")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void EndFinalizer(RunningFinalizer* running);

    // As Delete, for an object whose lock is held or waited for: its lock stays usable.
    [RuntimeImport("*", "freehold_delete_keeping_lock")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern DeleteResult DeleteKeepingLock(object? obj);

    [RuntimeImport("*", "freehold_finalizer")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern delegate*<object, void> GetFinalizer(object obj);

    [RuntimeImport("*", "freehold_get_statistics")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern void GetStatistics(ulong* values, int count);

    // What is known of the deleted object that this thread met last, once.
    [RuntimeImport("*", "freehold_take_history")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    private static extern void TakeHistory(ObjectHistory* history);

    internal static ObjectHistory TakeHistory()
    {
        ObjectHistory history;
        TakeHistory(&history);
        return history;
    }

    // The return addresses of a remembered stack, innermost first.
    [RuntimeImport("*", "freehold_read_stack")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern int ReadStack(uint stack, nint* addresses, int capacity);

    // Stops the other threads: an ordinary P/Invoke, with a transition.
    [DllImport("freehold", EntryPoint = "freehold_release_unpinned")]
    internal static extern void ReleaseUnpinned();

    // A round takes time, and may wait for another: an ordinary P/Invoke too.
    [DllImport("freehold", EntryPoint = "freehold_promote")]
    internal static extern long Compact();

    // They stop the other threads too.
    [DllImport("freehold", EntryPoint = "freehold_find_unreachable")]
    internal static extern int FindUnreachable(UnreachableEntry* entries, int capacity);

    [DllImport("freehold", EntryPoint = "freehold_reclaim")]
    internal static extern long Reclaim();

    // Stops the other threads while it walks: an ordinary P/Invoke, with a transition.
    [DllImport("freehold", EntryPoint = "freehold_verify")]
    internal static extern long Verify(byte* message, long capacity);

    /// <summary>Injected into CoreLib by the rewriter: frees the object's entry of the runtime's table of locks.</summary>
    [RuntimeImport("*", "FreeholdReleaseSyncEntry")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern bool ReleaseSyncEntry(object obj);

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
