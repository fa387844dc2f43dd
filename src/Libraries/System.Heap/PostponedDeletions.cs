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
    private static object?[] s_objects = new object?[8];
    private static volatile int s_count;
    private static int s_next;

    /// <summary>Notes an object that <see cref="NativeHeap.ReleaseSyncEntry"/> has marked.</summary>
    internal static DeleteResult Add(object obj)
    {
        lock (s_gate)
        {
            if (s_count == s_objects.Length)
            {
                object?[] full = s_objects;
                Array.Resize(ref s_objects, s_count * 2);
                NativeHeap.Delete(full);
            }

            s_objects[s_count] = obj;
            s_count++;
        }

        return DeleteResult.Deleted;
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
                object obj = s_objects[s_next]!;
                if (IsDone(obj))
                {
                    int last = s_count - 1;
                    if (s_next != last)
                    {
                        // Not of itself: the store asks for the type of an object that is gone.
                        s_objects[s_next] = s_objects[last];
                    }

                    s_objects[last] = null;
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
            return NativeHeap.ReleaseSyncEntry(obj, again: true) == NativeHeap.LockRelease.Released && NativeHeap.DeletePostponed(obj) != DeleteResult.HasSyncEntry;
        }
        catch (DanglingReferenceException)
        {
            // Another deletion, which keeps locks, was first.
            return true;
        }
    }
}
