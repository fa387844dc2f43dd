using System.Threading;

namespace System;

/// <summary>
/// Objects that were deleted while their lock was held or waited for. Who holds it needs the object's header to let go, and who waits needs the holder to do
/// so: until then the object keeps its memory. Later deletions of objects with a lock, and <see cref="Heap.Reclaim"/>, look whether it is free.
/// </summary>
internal static class PostponedDeletions
{
    // A deletion takes time for so many of them only.
    private const int AtMost = 4;

    private static readonly Lock s_gate = new();
    private static Postponed[] s_objects = new Postponed[8];
    private static volatile int s_count;
    private static int s_next;

    // Threads that may mark an object now: each has a place. An object that is marked must be noted, or nobody would ever delete it.
    private static int s_reserved;

    /// <summary>Frees the object's lock and what it needs. If the lock is in use, the object is noted, and counts as deleted.</summary>
    /// <exception cref="OutOfMemoryException">There is no place for another one. Nothing was done.</exception>
    internal static DeleteResult Release(object obj)
    {
        Reserve();
        NativeHeap.LockRelease released = default;
        try
        {
            released = NativeHeap.ReleaseSyncEntry(obj, again: false);
        }
        finally
        {
            Enter();
            s_reserved--;
            if (released == NativeHeap.LockRelease.Postponed)
            {
                s_objects[s_count].Object = obj;
                s_count++;
            }

            s_gate.Exit();
        }

        if (released == NativeHeap.LockRelease.Postponed)
        {
            return DeleteResult.Deleted;
        }

        return released == NativeHeap.LockRelease.Released ? NativeHeap.DeleteItself(obj) : DeleteResult.AlreadyDeleted;
    }

    // Memory is allocated outside of the gate: an allocation may wait for finalizers, and one of these for the gate.
    private static void Reserve()
    {
        while (true)
        {
            Enter();
            Postponed[] full = s_objects;
            bool hasRoom = s_count + s_reserved < full.Length;
            if (hasRoom)
            {
                s_reserved++;
            }

            s_gate.Exit();
            if (hasRoom)
            {
                return;
            }

            var larger = new Postponed[full.Length * 2];
            Postponed[] unused = larger;
            Enter();
            if (s_objects == full)
            {
                Array.Copy(full, larger, s_count);
                s_objects = larger;
                unused = full;
            }

            s_gate.Exit();
            NativeHeap.Delete(unused);
        }
    }

    // Without a wait, which could allocate or be interrupted: what is marked has to be noted.
    private static void Enter()
    {
        while (!s_gate.TryEnter())
        {
            Thread.Yield();
        }
    }

    /// <summary>Deletes a few, if their locks are free.</summary>
    internal static void Retry(int atMost = AtMost)
    {
        // Others get the gate in between.
        for (int left = Math.Min(s_count, atMost); left > 0; left -= AtMost)
        {
            // Whoever is at it does the same.
            if (!s_gate.TryEnter())
            {
                return;
            }

            RetrySome(Math.Min(left, AtMost));
        }
    }

    private static void RetrySome(int tries)
    {
        try
        {
            for (tries = Math.Min(s_count, tries); tries > 0; tries--)
            {
                s_next = s_next < s_count ? s_next : 0;
                if (IsDone(s_objects[s_next].Object!))
                {
                    int last = s_count - 1;
                    s_objects[s_next] = s_objects[last];
                    s_objects[last] = default;
                    s_count = last;
                }
                else
                {
                    s_next++;
                }
            }
        }
        finally
        {
            s_gate.Exit();
        }
    }

    private static bool IsDone(object obj)
    {
        try
        {
            if (NativeHeap.ReleaseSyncEntry(obj, again: true) != NativeHeap.LockRelease.Released)
            {
                return false;
            }

            // A lock may have been made just then.
            return Deletion.End(NativeHeap.DeletePostponed(obj)) != DeleteResult.HasSyncEntry;
        }
        catch (DanglingReferenceException)
        {
            // Another deletion, which keeps locks, was first.
            return true;
        }
    }

    // A store into an array of references asks for the type of the object, which may be gone.
    private struct Postponed
    {
        internal object? Object;
    }
}
