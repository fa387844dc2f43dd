using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace System;

/// <summary>
/// <see cref="Heap.DeleteGraph"/>: a search that finds finalizers to run deletes nothing. They are run here, and another search decides anew, for they may have changed
/// who leads to whom.
/// </summary>
internal static class GraphDeletion
{
    private const int Room = 64;
    // Who registers itself again after each of so many stays.
    internal const int MostRounds = 4;

    internal static unsafe DeletedGraph Delete(object obj)
    {
        if (obj is Threading.Thread)
        {
            Deletion.Check(DeleteResult.NotDeletable);
        }

        object root = obj;
        object?[] finalizable = new object?[Room];
        var kept = new List<object>();
        ExceptionDispatchInfo? first = null;
        GraphEntry entry;
        for (int round = 0; ; round++)
        {
#pragma warning disable CS8500 // addresses of references on the stack, which the runtime keeps current
            GraphResult result = NativeHeap.DeleteGraph(&root, &finalizable, &entry);
#pragma warning restore CS8500
            if (result == GraphResult.NotPossible)
            {
                throw UnreachableObjects.NoMemory();
            }

            if (result is GraphResult.Gone or GraphResult.NotInHeap)
            {
                // Says why.
                Deletion.Check(Deletion.Continue(root, NativeHeap.Delete(root)));
                return default;
            }

            if (result == GraphResult.Deleted)
            {
                break;
            }

            if (entry.Finalizable > finalizable.Length)
            {
                Array.Clear(finalizable);
                Heap.Delete(finalizable);
                finalizable = new object?[checked((int)(entry.Finalizable + (entry.Finalizable / 2)))];
                round--;
                continue;
            }

            for (int i = 0; i < (int)entry.Finalizable; i++)
            {
                RunFinalizer(ref finalizable[i], round >= MostRounds, kept, ref first);
            }
        }

        if (entry.RootHasLock != 0)
        {
            Deletion.Check(Deletion.ReleaseLock(root, DeleteResult.HasSyncEntry));
        }

        GC.KeepAlive(kept);  // until here: a root of the searches
        Heap.Delete(finalizable);
        Heap.Delete(kept);
        NativeHeap.ReleaseDeadLocks();
        first?.Throw();
        return new DeletedGraph(entry.Objects, entry.Bytes);
    }

    // A frame of its own: no place of the caller's may go on to name the object.
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void RunFinalizer(ref object? place, bool keep, List<object> kept, ref ExceptionDispatchInfo? first)
    {
        object obj = place!;
        place = null;
        if (keep)
        {
            kept.Add(obj);
            return;
        }

        try
        {
            // Another finalizer may have deleted it, or disposed of it: nothing of it is read before the claim.
            if (!NativeHeap.ClaimFinalizer(obj))
            {
                return;
            }

            if (obj is Threading.Thread)
            {
                GC.ReRegisterForFinalize(obj);  // takes the claim back
                kept.Add(obj);
                return;
            }

            Deletion.CallFinalizer(obj);
        }
        catch (Exception exception)
        {
            first ??= ExceptionDispatchInfo.Capture(exception);
        }
    }
}
