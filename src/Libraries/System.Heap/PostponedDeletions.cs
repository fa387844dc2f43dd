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
            lock (s_gate)
            {
                s_reserved--;
                if (released == NativeHeap.LockRelease.Postponed)
                {
                    s_objects[s_count].Object = obj;
                    s_count++;
                }
            }
        }

        if (released == NativeHeap.LockRelease.Postponed)
        {
            return DeleteResult.Deleted;
        }

        return released == NativeHeap.LockRelease.Released ? NativeHeap.DeleteItself(obj) : DeleteResult.AlreadyDeleted;
    }

    private static void Reserve()
    {
        lock (s_gate)
        {
            if (s_count + s_reserved == s_objects.Length)
            {
                Postponed[] full = s_objects;
                var larger = new Postponed[full.Length * 2];
                Array.Copy(full, larger, s_count);
                s_objects = larger;
                NativeHeap.Delete(full);
            }

            s_reserved++;
        }
    }

    /// <summary>Deletes a few, if their locks are free.</summary>
    internal static void Retry(int atMost = AtMost)
    {
        // Whoever is at it does the same.
        if (s_count == 0 || !s_gate.TryEnter())
        {
            return;
        }

        try
        {
            for (int tries = Math.Min(s_count, atMost); tries > 0; tries--)
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
            DeleteResult result = NativeHeap.DeletePostponed(obj);
            if (result == DeleteResult.MayBePinned)
            {
                NativeHeap.ReleaseUnpinned();
            }

            return result != DeleteResult.HasSyncEntry;
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
