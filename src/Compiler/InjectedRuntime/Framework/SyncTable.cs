using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.Importing;

namespace System.Threading;

[Framework]
internal static class SyncTable
{
    /// <summary>Lock._state of a lock that this thread holds and nobody waits for or spins on.</summary>
    [Injected]
    private const uint HeldAndUncontended = 1;

    /// <summary>The two flags that say: the low bits of the sync word are the hash code.</summary>
    [Injected]
    private const int HeaderHoldsHash = 0x0C000000;

    /// <summary>The bits of the sync word that are not index, hash code or their two flags.</summary>
    [Injected]
    private const int OtherHeaderBits = unchecked((int)0xF0000000);

    /// <summary>The object's deletion waits until its lock is free (core/object.h).</summary>
    [Injected]
    private const int HeaderIsPostponed = unchecked((int)0x80000000);

    /// <summary>What FreeholdReleaseSyncEntry answers: NativeHeap.LockRelease.</summary>
    [Injected]
    private const int Released = 0, Postponed = 1, AlreadyPostponed = 2;

    [Injected]
    private const int Infinite = -1, Look = 1_000;

    private static Lock s_lock;
    private static Entry[] s_entries;
    private static int s_freeEntryList;

    /// <summary>Gives an object's entry back, before the object is deleted; or, when its lock is held or waited for, marks the object: its deletion is postponed.</summary>
    /// <param name="obj">The object.</param>
    /// <param name="again">Whether its deletion was postponed before.</param>
    /// <returns>Released, Postponed or AlreadyPostponed.</returns>
    /// <remarks>
    /// The hash code goes back into the header: a deleted object whose page is still there has it like any other.
    /// The lock is taken for the check so that nobody can enter between check and detachment; the finally block matters because the header's
    /// page may die under a racing second Delete, and that throws. The Lock is deleted, not reused, and the free entry goes on leading to it: a thread that took
    /// the index or the Lock just before, and enters late, sees then that it is the object's no more.
    /// Who is in <c>Monitor.Wait</c> is woken, since nobody need pulse a deleted object, and takes that Lock again: it must be the one in the table.
    /// Its AutoResetEvent, made only when a thread had to sleep, is left: the thread that signalled it last may still be inside Set.
    /// </remarks>
    [Injected]
    [RuntimeExport("FreeholdReleaseSyncEntry")]
    internal static unsafe int FreeholdReleaseSyncEntry(object obj, bool again)
    {
        int answer = Released;
        Lock detached = null, entered = null;
        Condition condition = null;
        int thread = 0;
        // The four bytes before the MethodTable pointer.
        ref int header = ref Il.Subtract(ref RuntimeHelpers.GetMethodTableRef(obj), sizeof(int));
        s_lock.Enter();
        try
        {
            int old = header;
            if ((old & HeaderIsPostponed) != 0 && !again)
            {
                answer = AlreadyPostponed;
            }
            else if (ObjectHeader.GetSyncEntryIndex(old, out int index))
            {
                ref Entry entry = ref s_entries[index];
                Lock candidate = entry.Lock;
                thread = Environment.CurrentManagedThreadId;
                if (candidate.TryEnterOneShot(thread))
                {
                    entered = candidate;
                }

                if (!Monitor.s_conditionTable.TryGetValue(obj, out condition) || condition._freeholdWaiting == 0)
                {
                    condition = null;
                }
                else if (entered is null && !candidate.GetIsHeldByCurrentThread(thread))
                {
                    // Whoever holds the lock may pulse; if not, a later try does.
                    condition = null;
                }

                if (entered is not null && entered._state == HeldAndUncontended && condition is null)
                {
                    int hash = entry.HashCode;
                    if (hash != 0)
                    {
                        hash |= HeaderHoldsHash;
                    }

                    do
                    {
                        old = header;
                    }
                    while (Interlocked.CompareExchange(ref header, (old & OtherHeaderBits) | hash, old) != old);
                    Free(ref entry, index);
                    detached = candidate;
                }
                else
                {
                    answer = Postponed;
                    do
                    {
                        old = header;
                    }
                    while (Interlocked.CompareExchange(ref header, old | HeaderIsPostponed, old) != old);
                }
            }
        }
        finally
        {
            s_lock.Exit();
            condition?.SignalAll();
            entered?.Exit(thread);
        }

        if (detached is not null)
        {
            FreeholdRuntime.Delete(detached);
        }

        return answer;
    }

    /// <summary>The hash code of an object whose header held this index: of another object, if the entry was given back meanwhile. Zero: none yet.</summary>
    [Injected]
    internal static int FreeholdGetHashCode(int index, object obj)
    {
        while (true)
        {
            int hash = s_entries[index].HashCode;
            int header = Header(obj);
            bool hasEntry = ObjectHeader.GetSyncEntryIndex(header, out int now);
            if (!hasEntry)
            {
                return (header & HeaderHoldsHash) == HeaderHoldsHash ? now : 0;
            }

            if (now == index)
            {
                return hash;
            }

            index = now;
        }
    }

    /// <summary>Sets the hash code of an object, if it has none.</summary>
    [Injected]
    internal static int FreeholdSetHashCode(int index, int hash, object obj)
    {
        s_lock.Enter();
        try
        {
            // While the lock is held nobody gives an entry back.
            if (ObjectHeader.GetSyncEntryIndex(Header(obj), out index))
            {
                ref Entry entry = ref s_entries[index];
                if (entry.HashCode == 0)
                {
                    entry.HashCode = hash;
                }

                return entry.HashCode;
            }
        }
        finally
        {
            s_lock.Exit();
        }

        return ObjectHeader.GetHashCode(obj);
    }

    /// <summary>Lock.TryEnterOneShot, of an object's lock. False also when the lock is the object's no more: the slow path finds the right one.</summary>
    /// <remarks>Not inlined: <c>Monitor.Enter</c> would save more registers for it, also where the lock is in the header alone.</remarks>
    [Injected]
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static bool FreeholdTryEnterOneShot(Lock candidate, int thread, object obj) =>
        candidate.TryEnterOneShot(thread) && (IsLockOf(candidate, obj) || Leave(candidate));

    /// <summary>Lock.TryEnterSlow, of an object's lock. It does not wait for one that has become another object's.</summary>
    /// <remarks>
    /// A wait without end looks at the object now and then: if that was deleted while the lock was being made, the one who holds it may have found the memory gone, and lets nobody in any more.
    /// </remarks>
    [Injected]
    internal static bool FreeholdTryEnterSlow(Lock candidate, int milliseconds, int thread, object obj)
    {
        while (true)
        {
            if (IsLockOf(candidate, obj))
            {
                if (candidate.TryEnterSlow(milliseconds == Infinite ? Look : milliseconds, thread))
                {
                    if (IsLockOf(candidate, obj))
                    {
                        return true;
                    }

                    candidate.Exit();
                }
                else if (milliseconds != Infinite)
                {
                    return false;
                }
            }

            FreeholdRuntime.TouchObject(obj);
            candidate = ObjectHeader.GetLockObject(obj);
        }
    }

    /// <summary>Lock.GetIsHeldByCurrentThread, of an object's lock.</summary>
    [Injected]
    internal static bool FreeholdIsHeld(Lock candidate, int thread, object obj) => candidate.GetIsHeldByCurrentThread(thread) && IsLockOf(candidate, obj);

    [Injected]
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsLockOf(Lock candidate, object obj) =>
        ObjectHeader.GetSyncEntryIndex(Header(obj), out int index) && s_entries[index].Lock == candidate;

    [Injected]
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Leave(Lock entered)
    {
        entered.Exit();
        return false;
    }

    [Injected]
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static unsafe int Header(object obj) => Il.Subtract(ref RuntimeHelpers.GetMethodTableRef(obj), sizeof(int));

    /// <summary>
    /// For objects that no root reached and that the heap deleted while the threads stood still: the finalizer thread calls it before it runs finalizers.
    /// The Lock is not deleted: the thread that left it last may still be inside Exit, of an object that it does not need any more. The next search finds it.
    /// </summary>
    [Injected]
    [RuntimeExport("FreeholdReleaseDeadLocks")]
    internal static void FreeholdReleaseDeadLocks()
    {
        while (FreeholdRuntime.TakeDeadLock() is int index and not 0)
        {
            s_lock.Enter();
            try
            {
                // No root reached the object, so no thread can be on the way to this entry.
                s_entries[index].Lock = null;
                Free(ref s_entries[index], index);
            }
            finally
            {
                s_lock.Exit();
            }
        }
    }

    [Injected]
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static void Free(ref Entry entry, int index)
    {
        entry.Next = s_freeEntryList;
        s_freeEntryList = index;
    }

    private struct Entry
    {
        public Lock Lock;

        public extern int HashCode { get; set; }

        public extern int Next { set; }
    }
}
