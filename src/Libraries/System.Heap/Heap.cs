using System.Collections.Generic;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Text;

namespace System;

/// <summary>Manual memory management: deletes objects, and tells what the heap holds.</summary>
/// <remarks>
/// Published with Freehold the heap is manual: <see cref="Delete"/> gives memory back at once. Under <c>dotnet run</c> and <c>dotnet test</c> the same
/// program runs on the garbage collector: finalizers run and double deletes are found, memory stays with the collector.
/// Every member may be called from any thread at any time.
/// </remarks>
public static class Heap
{
    /// <summary>Whether this process runs on Freehold's heap, instead of a garbage collector.</summary>
    [FeatureSwitchDefinition("System.Heap.IsManual")]
    public static bool IsManual { get; } = AppContext.TryGetSwitch("System.Heap.IsManual", out bool isManual) && isManual;

    /// <summary>Ends the life of one object: runs its finalizer (once, on this thread), then frees its memory and that of the parts that it owns.</summary>
    /// <param name="obj">The object; null does nothing.</param>
    /// <remarks>
    /// Its parts are what the framework's types keep inside (the array of a list, the nodes of a tree) and what fields marked <see cref="OwnedAttribute"/> refer to;
    /// all else that it refers to lives on: see <see cref="DeleteAll"/>. Any later use of a reference to it behaves as if it were alive, or throws <see cref="DanglingReferenceException"/>.
    /// What the framework gives to all who ask, as the text of a small number or a task that is over, stays: nothing happens.
    /// Does not wait for other threads. An exception from the finalizer leaves the object undeleted; a second call then frees it.
    /// A finalizer may delete its own object, or register it again for finalization: the call that runs the finalizer ends the object's life all the same.
    /// </remarks>
    /// <exception cref="DoubleDeleteException">The object was deleted before.</exception>
    /// <exception cref="DanglingReferenceException">The object was deleted before and its memory is gone.</exception>
    /// <exception cref="ArgumentException">The object belongs to the runtime: a string literal, a frozen object, a <see cref="Type"/>, a <see cref="System.Threading.Thread"/>.</exception>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Delete(object? obj)
    {
        if (!IsManual)
        {
            CollectedHeap.Delete(obj);
            return;
        }

        DeleteResult result = NativeHeap.Delete(obj);
        if (result != DeleteResult.Deleted)
        {
            DeleteSlowly(obj, result);
        }
    }

    /// <summary>What the heap holds and has done until now. Under a garbage collector only the figures that it knows are set.</summary>
    public static HeapStatistics GetStatistics() => IsManual ? HeapStatistics.Read() : CollectedHeap.GetStatistics();

    /// <summary>Compacts the heap and returns when that is done: live objects leave sparse blocks of memory, whose memory is then given back.</summary>
    /// <returns>How many objects moved.</returns>
    /// <remarks>
    /// The heap does this by itself, in the background; a program that knows of a good moment may ask for it. Moving an object is invisible, but the
    /// first uses of references to it cost some microseconds each. Under a garbage collector, in debug mode and with <c>FREEHOLD_COMPACTION=0</c> it does nothing and returns 0.
    /// </remarks>
    public static long Compact() => IsManual ? NativeHeap.Compact() : 0;

    /// <summary>Finds what the program forgot to delete: live objects that no static, local, handle or other live object refers to any more.</summary>
    /// <returns>One item for each type, the most bytes first. Empty under a garbage collector, which finds such objects itself.</returns>
    /// <remarks>
    /// Stops the other threads while it marks all that can be reached. What only a deleted object refers to counts as unreachable once that object's
    /// memory is gone. Objects whose finalizer has not run are found too: nobody disposed of them.
    /// </remarks>
    /// <exception cref="InsufficientMemoryException">There is no memory for the marks.</exception>
    public static IReadOnlyList<UnreachableObjects> FindUnreachable() => IsManual ? UnreachableObjects.Find() : [];

    /// <summary>Finds what <see cref="FindUnreachable"/> finds, with the places where it was allocated, if these are known.</summary>
    /// <returns>The leaks by type. Empty under a garbage collector.</returns>
    /// <remarks>
    /// Nothing is deleted, no finalizer runs. <c>FREEHOLD_RECLAIM=report</c> keeps objects until they are told of, and remembers where a sample of them was allocated, at a price that production can pay; with
    /// <c>FREEHOLD_DEBUG=stacks</c> every place is exact. In other modes no place is known, and the heap may have deleted what is lost. Stops the other threads while it marks.
    /// </remarks>
    /// <exception cref="InsufficientMemoryException">There is no memory for the marks.</exception>
    public static LeakReport FindLeaks() => IsManual ? LeakReport.Find() : LeakReport.None;

    /// <summary>Writes what <see cref="FindLeaks"/> finds as text. With <c>FREEHOLD_RECLAIM=report</c> the program does so by itself when it exits, on standard error.</summary>
    /// <param name="writer">Where to.</param>
    /// <exception cref="ArgumentNullException">There is no writer.</exception>
    /// <exception cref="InsufficientMemoryException">There is no memory for the marks.</exception>
    public static void ReportLeaks(IO.TextWriter writer)
    {
        ArgumentNullException.ThrowIfNull(writer);
        // The text and what it is made of are no leaks of the program.
        using (Scope())
        {
            FindLeaks().WriteTo(writer);
        }
    }

    /// <summary>Deletes what <see cref="FindUnreachable"/> would find.</summary>
    /// <returns>How many objects were deleted; 0 under a garbage collector.</returns>
    /// <remarks>
    /// In each mode of <c>FREEHOLD_RECLAIM</c>. For what nobody can delete by hand, such as objects that a library makes inside and drops. Unlike <see cref="Delete"/> it stops the other threads: for the roots, two or a few times;
    /// in debug mode, or with FREEHOLD_RECLAIM_CONCURRENT=0, all the while. The heap does it by itself when it has grown, as FREEHOLD_RECLAIM and FREEHOLD_RECLAIM_GROWTH
    /// say, and before an allocation fails. Objects whose finalizer has not run are given to the finalizer thread (<see cref="GC.WaitForPendingFinalizers"/>), and the next call deletes them, with what they refer to. Weak references to what is found read null.
    /// </remarks>
    /// <exception cref="InsufficientMemoryException">There is no memory for the marks.</exception>
    public static long Reclaim()
    {
        if (!IsManual)
        {
            return 0;
        }

        OutgrownArrays.DeleteAll();
        PostponedDeletions.Retry(int.MaxValue);
        long deleted = NativeHeap.Reclaim();
        NativeHeap.ReleaseDeadLocks();
        return deleted >= 0 ? deleted : throw UnreachableObjects.NoMemory();
    }

    /// <summary>
    /// Memory is short: the heap has grown beyond 7/8 of its limit (<c>FREEHOLD_HEAP_LIMIT</c>) and more than half of the limit is live, or with the other heaps of the process beyond 7/8 of what they may hold together
    /// (<c>FREEHOLD_MEMORY_LIMIT</c>; without it, of what the machine has). A handler may drop caches.
    /// </summary>
    /// <remarks>
    /// Unreachable objects were deleted before, if <c>FREEHOLD_RECLAIM</c> allows it. Raised again only after memory was below 3/4 meanwhile. An allocation that fails raises it too, once a second at most. Handlers run one after the other on a thread
    /// of their own, and may allocate, delete, block and throw: the heap waits for none of them, and an exception is written on standard error. The sender is null. Never raised under a garbage collector.
    /// </remarks>
    public static event EventHandler<MemoryPressureEventArgs>? MemoryPressure
    {
        add => HeapEvents.Add(value);
        remove => HeapEvents.Remove(value);
    }

    /// <summary>With <c>FREEHOLD_RECLAIM=report</c>: the live bytes have grown by <c>FREEHOLD_RECLAIM_GROWTH</c> since the last time, and by 32 MB at least, and there are leaks.</summary>
    /// <remarks>As <see cref="MemoryPressure"/>. While somebody listens, each such growth is followed by a search, which stops the other threads while it marks.</remarks>
    public static event EventHandler<LeakReport>? LeaksFound
    {
        add => HeapEvents.Add(value);
        remove => HeapEvents.Remove(value);
    }

    /// <summary>Walks the whole heap and checks every invariant; then those of the heap of handles and of the meshing malloc, if the process has them. Stops the other threads meanwhile.</summary>
    /// <remarks>Under a garbage collector it does nothing.</remarks>
    /// <exception cref="InvalidOperationException">An invariant is broken; the message describes the first case. The program should end.</exception>
    public static void Verify()
    {
        if (IsManual && CountViolations(out string first) is var errors and not 0)
        {
            throw new InvalidOperationException($"The heap is damaged ({errors} violations). First: {first}");
        }
    }

    internal static unsafe long CountViolations(out string first)
    {
        const int Capacity = 1024;
        byte* message = stackalloc byte[Capacity];
        long errors = NativeHeap.Verify(message, Capacity);
        first = errors == 0 ? "" : Encoding.UTF8.GetString(System.Runtime.InteropServices.MemoryMarshal.CreateReadOnlySpanFromNullTerminated(message));
        return errors;
    }

    /// <summary>Deletes a collection and what is in it, as <see cref="Delete"/> does. Of a dictionary, keys and values.</summary>
    /// <param name="collection">The collection; null does nothing. It must not change meanwhile.</param>
    /// <remarks>
    /// A dictionary is what implements <see cref="System.Collections.IDictionary"/>. Elements that are null, that are in it more than once, that were deleted before or that belong to the runtime or the framework (string literals, texts of small numbers) are passed over.
    /// An exception from an element's finalizer is thrown when everything else is deleted.
    /// </remarks>
    /// <exception cref="DoubleDeleteException">The collection was deleted before.</exception>
    /// <exception cref="DanglingReferenceException">The collection was deleted before and its memory is gone.</exception>
    public static void DeleteAll(System.Collections.IEnumerable? collection)
    {
        if (collection is null)
        {
            return;
        }

        if (IsManual)
        {
            OwnedParts.DeleteWithElements(collection);
        }
        else
        {
            CollectedHeap.DeleteAll(collection);
        }
    }

    /// <summary>Deletes an object, and all that only it leads to: what no static, local, handle or object outside reaches in another way.</summary>
    /// <param name="root">The object; null does nothing. It is deleted whoever refers to it, as by <see cref="Delete"/>.</param>
    /// <returns>What was deleted; under a garbage collector the root only, and no bytes.</returns>
    /// <remarks>
    /// A search of the whole heap with the other threads stopped, as <see cref="FindUnreachable"/> makes it: for large structures without one owner, not for each small object.
    /// Finalizers that have not run are run before, on this thread, the root's first, while everything is alive; then a second search decides. An exception from one of them is thrown when
    /// everything is deleted. Weak references to what is found read null. A <see cref="System.Threading.Thread"/>, and what registers itself for finalization again and again, stays for <see cref="Reclaim"/>.
    /// </remarks>
    /// <exception cref="DoubleDeleteException">The root was deleted before.</exception>
    /// <exception cref="DanglingReferenceException">The root was deleted before and its memory is gone.</exception>
    /// <exception cref="ArgumentException">The root belongs to the runtime, as for <see cref="Delete"/>.</exception>
    /// <exception cref="InsufficientMemoryException">There is no memory for the marks; nothing was deleted.</exception>
    public static DeletedGraph DeleteGraph(object? root)
    {
        if (root is null)
        {
            return default;
        }

        if (IsManual)
        {
            return GraphDeletion.Delete(root);
        }

        CollectedHeap.Delete(root);
        return new DeletedGraph(1, 0);
    }

    /// <summary>Begins a scope of this thread: <c>using (Heap.Scope()) { … }</c>. At its end is deleted what the thread has allocated inside and nothing outside leads to.</summary>
    /// <remarks>
    /// What stays: all that another thread, a static, a local that is still to be read, a handle or an object from outside of the scope leads to, and what that needs. The thread need not own what it makes,
    /// nor tell anybody of the scope. Scopes nest: what an inner one leaves is the outer one's. Weak references to what is deleted read null. The end stops the other threads for some
    /// microseconds; its cost follows what was allocated in the scope and where references to that were stored, not the heap. Under a garbage collector a scope does nothing.
    /// </remarks>
    public static HeapScope Scope() => new(IsManual ? NativeHeap.BeginScope() : 0);

    [StackTraceHidden]
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void DeleteSlowly(object? obj, DeleteResult result)
    {
        if (obj is not null)
        {
            Deletion.Check(Deletion.Continue(obj, result));
        }
    }
}
