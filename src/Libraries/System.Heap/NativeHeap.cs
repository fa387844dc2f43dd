using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace System;

/// <summary>
/// The entry points of the native heap (src/Allocator/runtime/abi.h). They exist only in a program published with Freehold:
/// every caller is behind <see cref="Heap.IsManual"/>.
/// </summary>
/// <remarks>
/// No call changes the thread's mode (<c>SuppressGCTransition</c>), so that an object's address stays an object reference for the runtime.
/// </remarks>
internal static unsafe partial class NativeHeap
{
    private const string Library = "freehold";

    [DllImport(Library, EntryPoint = "freehold_delete"), SuppressGCTransition]
    internal static extern DeleteResult Delete(nint obj);

    // As Delete, for an object whose lock is held or waited for: its lock stays usable.
    [DllImport(Library, EntryPoint = "freehold_delete_keeping_lock"), SuppressGCTransition]
    internal static extern DeleteResult DeleteKeepingLock(nint obj);

    [DllImport(Library, EntryPoint = "freehold_finalizer"), SuppressGCTransition]
    internal static extern delegate*<object, void> GetFinalizer(nint obj);

    [DllImport(Library, EntryPoint = "freehold_get_statistics"), SuppressGCTransition]
    internal static extern void GetStatistics(ulong* values, int count);

    // Stops the other threads while it walks: an ordinary P/Invoke, with a transition.
    [DllImport(Library, EntryPoint = "freehold_verify")]
    internal static extern long Verify(byte* message, long capacity);

    /// <summary>Injected into CoreLib by the rewriter: frees the object's entry of the runtime's table of locks.</summary>
    [RuntimeImport("*", "FreeholdReleaseSyncEntry")]
    [MethodImpl(MethodImplOptions.InternalCall)]
    internal static extern bool ReleaseSyncEntry(object obj);

    /// <summary>The factory that the rewritten CoreLib calls when the fault handler reports a dangling reference.</summary>
    [RuntimeExport("FreeholdCreateDanglingReference")]
    internal static Exception CreateDanglingReference() => new DanglingReferenceException();
}
