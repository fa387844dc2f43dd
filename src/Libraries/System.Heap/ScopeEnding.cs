using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Runtime.InteropServices;

namespace System;

/// <summary>
/// The end of a <see cref="HeapScope"/>: a search that finds finalizers to run deletes nothing. They are run here, and another search decides anew, for they may have changed
/// who leads to whom.
/// </summary>
internal static class ScopeEnding
{
    /// <summary>As <c>ScopeResult</c> in heap/scopes.h.</summary>
    internal enum Result
    {
        Deleted = 0,
        Kept = 1,
        Finalizable = 2,
        Gone = 3,
    }

    /// <summary>The layout of <c>ScopeDeletion</c> there.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal readonly struct Entry
    {
        internal readonly long Objects;
        internal readonly long Bytes;
        internal readonly long Finalizable;
    }

    internal static unsafe void End(long scope)
    {
        object?[]? finalizable = null;
        List<object>? kept = null;
        ExceptionDispatchInfo? first = null;
        Entry entry;
        bool ended = false;
        try
        {
            for (int round = 0; ; round++)
            {
#pragma warning disable CS8500 // the address of a reference on the stack, which the runtime keeps current
                Result result = NativeHeap.EndScope(scope, &finalizable, &entry);
#pragma warning restore CS8500
                if (result == Result.Gone)
                {
                    return;
                }

                if (result != Result.Finalizable)
                {
                    ended = result == Result.Deleted;
                    break;
                }

                if (finalizable is null || entry.Finalizable > finalizable.Length)
                {
                    if (finalizable is not null)
                    {
                        Array.Clear(finalizable);
                        Heap.Delete(finalizable);
                    }

                    finalizable = new object?[checked((int)(entry.Finalizable + (entry.Finalizable / 2)))];
                    round--;
                    continue;
                }

                kept ??= new List<object>();
                for (int i = 0; i < (int)entry.Finalizable; i++)
                {
                    GraphDeletion.RunFinalizer(ref finalizable[i], round >= GraphDeletion.MostRounds, kept, ref first);
                }
            }
        }
        finally
        {
            // Also without memory for what is to be finalized.
            if (!ended)
            {
                NativeHeap.LeaveScope(scope);
            }
        }

        GC.KeepAlive(kept);  // until here: a root of the searches
        Heap.Delete(finalizable);
        Heap.Delete(kept);
        NativeHeap.ReleaseDeadLocks();
        first?.Throw();
    }
}
