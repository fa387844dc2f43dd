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

    private static Lock s_lock;
    private static Entry[] s_entries;
    private static int s_freeEntryList;

    /// <summary>Gives an object's entry back, before the object is deleted. False, and nothing is changed, when its lock is held or waited for.</summary>
    /// <remarks>
    /// The hash code goes back into the header: a deleted object whose page is still there has it like any other.
    /// The lock is taken for the check so that nobody can enter between check and detachment; the finally block matters because the header's
    /// page may die under a racing second Delete, and that throws. The Lock is deleted, not reused: a thread that read it from the table just
    /// before and enters it late meets a deleted object, as the contract says, instead of holding a lock that belongs to somebody else.
    /// Who is in <c>Monitor.Wait</c> takes that Lock again and lets go of the one in the table: it must be the same.
    /// Its AutoResetEvent, made only when a thread had to sleep, is left: the thread that signalled it last may still be inside Set.
    /// </remarks>
    [Injected]
    [RuntimeExport("FreeholdReleaseSyncEntry")]
    internal static unsafe bool FreeholdReleaseSyncEntry(object obj)
    {
        bool released = true;
        Lock detached = null, entered = null;
        int thread = 0;
        // The four bytes before the MethodTable pointer.
        ref int header = ref Il.Subtract(ref RuntimeHelpers.GetMethodTableRef(obj), sizeof(int));
        s_lock.Enter();
        try
        {
            if (ObjectHeader.GetSyncEntryIndex(header, out int index))
            {
                ref Entry entry = ref s_entries[index];
                Lock candidate = entry.Lock;
                thread = Environment.CurrentManagedThreadId;
                if (candidate.TryEnterOneShot(thread) && (entered = candidate)._state == HeldAndUncontended
                    && !(Monitor.s_conditionTable.TryGetValue(obj, out Condition condition) && condition._freeholdWaiting != 0))
                {
                    int hash = entry.HashCode;
                    if (hash != 0)
                    {
                        hash |= HeaderHoldsHash;
                    }

                    int old;
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
                    released = false;
                }
            }
        }
        finally
        {
            entered?.Exit(thread);
            s_lock.Exit();
        }

        if (detached is not null)
        {
            FreeholdRuntime.Delete(detached);
        }

        return released;
    }

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
        entry.Lock = null;
        entry.Next = s_freeEntryList;
        s_freeEntryList = index;
    }

    private struct Entry
    {
        public Lock Lock;

        public extern int HashCode { get; }

        public extern int Next { set; }
    }
}
