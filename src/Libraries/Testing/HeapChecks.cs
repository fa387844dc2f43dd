using System.Runtime.CompilerServices;

namespace Freehold.Testing;

/// <summary>The assertions of <see cref="HeapAssert"/>, where the heap is Freehold's.</summary>
internal static class HeapChecks
{
    internal static void Apply(Assertion assertion, long bytes, Action block)
    {
        switch (assertion)
        {
            case Assertion.LeavesAtMost:
                Leaves(bytes, reclaims: false, block);
                break;
            case Assertion.KeepsNothing:
                Leaves(0, reclaims: true, block);
                break;
            case Assertion.Frees:
            case Assertion.FreesAtLeast:
                Frees(bytes, orMore: assertion == Assertion.FreesAtLeast, block);
                break;
            case Assertion.ThrowsDangling:
                Throws<DanglingReferenceException>("The block used no deleted object, or its use behaved as if the object were alive, as it may outside of debug mode: no DanglingReferenceException.", block);
                break;
            case Assertion.ThrowsDoubleDelete:
                Throws<DoubleDeleteException>("The block deleted no object for the second time: no DoubleDeleteException.", block);
                break;
            default:
                block();
                break;
        }
    }

    private static void Leaves(long bytes, bool reclaims, Action block)
    {
        // All that this method needs is there before it counts.
        using var before = new LiveObjects();
        using var after = new LiveObjects();
        using var lostBefore = new LiveObjects();
        using var lostAfter = new LiveObjects();
        Run(block);
        Settle(reclaims);
        after.ReadLive();
        Settle(reclaims);
        lostBefore.ReadLost();
        before.ReadLive();
        Run(block);
        Settle(reclaims);
        after.ReadLive();
        lostAfter.ReadLost();
        var left = new LeftObjects(before, after, lostBefore, lostAfter);
        if (left.Bytes > bytes || (bytes == 0 && left.Count > 0))
        {
            throw new HeapAssertException(left.Describe(bytes, reclaims));
        }
    }

    // No frame below this one leads to the block's objects when it has returned.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Run(Action block) => block();

    // What the heap deletes later by itself, it deletes now.
    private static void Settle(bool reclaims)
    {
        if (reclaims)
        {
            Heap.Reclaim();
            GC.WaitForPendingFinalizers();
            Heap.Reclaim();
        }

        OutgrownArrays.DeleteAll();
        PostponedDeletions.Retry(int.MaxValue);
    }

    private static void Frees(long bytes, bool orMore, Action block)
    {
        HeapStatistics before = Heap.GetStatistics();
        block();
        HeapStatistics after = Heap.GetStatistics();
        long freed = after.DeletedBytes - before.DeletedBytes, objects = after.DeletedObjects - before.DeletedObjects;
        if (orMore ? freed < bytes : freed != bytes)
        {
            throw new HeapAssertException(FormattableString.Invariant($"The block freed {freed} bytes in {objects} objects, and should have freed {(orMore ? "at least " : "")}{bytes} bytes."));
        }
    }

    private static void Throws<TException>(string nothing, Action block)
        where TException : Exception
    {
        Exception thrown;
        try
        {
            block();
            throw new HeapAssertException(nothing);
        }
        catch (Exception exception) when (exception is TException or DanglingReferenceException)
        {
            return;
        }
        catch (Exception exception) when (exception is not HeapAssertException)
        {
            thrown = exception;
        }

        throw new HeapAssertException($"The block threw {thrown.GetType()} instead of {typeof(TException)}: {thrown.Message}", thrown);
    }
}
