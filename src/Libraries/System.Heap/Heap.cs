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
    private const int StatisticsCount = HeapStatistics.Count;

    /// <summary>Whether this process runs on Freehold's heap, instead of a garbage collector.</summary>
    [FeatureSwitchDefinition("System.Heap.IsManual")]
    public static bool IsManual { get; } = AppContext.TryGetSwitch("System.Heap.IsManual", out bool isManual) && isManual;

    /// <summary>Ends the life of one object: runs its finalizer (once, on this thread), then frees its memory and that of the parts that it owns.</summary>
    /// <param name="obj">The object; null does nothing.</param>
    /// <remarks>
    /// Its parts are what the framework's types keep inside (the array of a list, the nodes of a tree) and what fields marked <see cref="OwnedAttribute"/> refer to;
    /// all else that it refers to lives on: see <see cref="DeleteAll"/>. Any later use of a reference to it behaves as if it were alive, or throws <see cref="DanglingReferenceException"/>.
    /// Does not wait for other threads. An exception from the finalizer leaves the object undeleted; a second call then frees it.
    /// A finalizer may delete its own object, or register it again for finalization: the call that runs the finalizer ends the object's life all the same.
    /// </remarks>
    /// <exception cref="DoubleDeleteException">The object was deleted before.</exception>
    /// <exception cref="DanglingReferenceException">The object was deleted before and its memory is gone.</exception>
    /// <exception cref="ArgumentException">The object belongs to the runtime: a string literal, a frozen object, a <see cref="Type"/>, the current thread.</exception>
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
    public static unsafe HeapStatistics GetStatistics()
    {
        ulong* values = stackalloc ulong[StatisticsCount];
        new Span<ulong>(values, StatisticsCount).Clear();
        if (IsManual)
        {
            NativeHeap.GetStatistics(values, StatisticsCount);
            return new HeapStatistics(new ReadOnlySpan<ulong>(values, StatisticsCount));
        }

        return CollectedHeap.GetStatistics();
    }

    /// <summary>Compacts the heap and returns when that is done: live objects leave sparse blocks of memory, whose memory is then given back.</summary>
    /// <returns>How many objects moved.</returns>
    /// <remarks>
    /// The heap does this by itself, in the background; a program that knows of a good moment may ask for it. Moving an object is invisible, but the
    /// first uses of references to it cost some microseconds each. Under a garbage collector it does nothing and returns 0.
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

    /// <summary>Deletes what <see cref="FindUnreachable"/> would find.</summary>
    /// <returns>How many objects were deleted; 0 under a garbage collector.</returns>
    /// <remarks>
    /// For what nobody can delete by hand, such as objects that a library makes inside and drops. Stops the other threads meanwhile, unlike <see cref="Delete"/>:
    /// call it where a pause is no harm. The heap does it by itself before an allocation fails, unless FREEHOLD_RECLAIM is 0, and as FREEHOLD_RECLAIM_GROWTH
    /// says. Objects whose finalizer has not run are given to the finalizer thread (<see cref="GC.WaitForPendingFinalizers"/>), and the next call deletes them, with what they refer to. Weak references to what is found read null.
    /// </remarks>
    /// <exception cref="InsufficientMemoryException">There is no memory for the marks.</exception>
    public static long Reclaim()
    {
        if (!IsManual)
        {
            return 0;
        }

        long deleted = NativeHeap.Reclaim();
        NativeHeap.ReleaseDeadLocks();
        return deleted >= 0 ? deleted : throw UnreachableObjects.NoMemory();
    }

    /// <summary>Walks the whole heap and checks every invariant. Stops the other threads meanwhile.</summary>
    /// <remarks>Under a garbage collector it does nothing.</remarks>
    /// <exception cref="InvalidOperationException">An invariant is broken; the message describes the first case. The program should end.</exception>
    public static unsafe void Verify()
    {
        if (!IsManual)
        {
            return;
        }

        const int Capacity = 1024;
        byte* message = stackalloc byte[Capacity];
        long errors = NativeHeap.Verify(message, Capacity);
        if (errors != 0)
        {
            string text = Encoding.UTF8.GetString(System.Runtime.InteropServices.MemoryMarshal.CreateReadOnlySpanFromNullTerminated(message));
            throw new InvalidOperationException($"The heap is damaged ({errors} violations). First: {text}");
        }
    }

    /// <summary>Deletes a collection and what is in it, as <see cref="Delete"/> does. Of a dictionary, keys and values.</summary>
    /// <param name="collection">The collection; null does nothing. It must not change meanwhile.</param>
    /// <remarks>
    /// A dictionary is what implements <see cref="System.Collections.IDictionary"/>. Elements that are null, that are in it more than once, that were deleted before or that belong to the runtime (string literals) are passed over.
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
