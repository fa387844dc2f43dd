using System.Runtime.CompilerServices;

namespace Freehold.Testing;

/// <summary>The assertions of <see cref="HeapAssert"/>, where the heap is Freehold's.</summary>
internal static class HeapChecks
{
    private const int MostMeasurements = 4;
    private const int MostReclaims = 10;

    internal static void Apply(Assertion assertion, long bytes, Block block)
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
                Throws<DanglingReferenceException>("The block used no deleted object, or its use behaved as if the object were alive, as it may outside of debug mode: no DanglingReferenceException.", _ => true, block);
                break;
            case Assertion.ThrowsDoubleDelete:
                Throws<DoubleDeleteException>("The block deleted no object for the second time: no DoubleDeleteException.", IsOfDeletion, block);
                break;
            default:
                block.Run();
                break;
        }
    }

    private static void Leaves(long bytes, bool reclaims, Block block)
    {
        // All that this method needs is there before it counts.
        using var before = new LiveObjects();
        using var after = new LiveObjects();
        using var lostBefore = new LiveObjects();
        using var lostAfter = new LiveObjects();
        bool blockReclaims = Run(block);
        Settle(reclaims);
        after.ReadLive();
        LeftObjects? left = null;
        // One run may make what the framework has for each processor, thread or size of a collection. What is left by all of them is left.
        for (int measurement = 0; measurement < MostMeasurements; measurement++)
        {
            // A block that reclaims may not be given what an earlier run of it has left: that would make up for what this run leaves.
            bool isClean = reclaims || blockReclaims;
            Settle(isClean);
            lostBefore.ReadLost();
            before.ReadLive();
            if (Run(block) && !isClean)
            {
                blockReclaims = true;
                measurement = -1;
                continue;
            }

            Settle(reclaims);
            after.ReadLive();
            lostAfter.ReadLost();
            var measured = new LeftObjects(before, after, lostBefore, lostAfter, block.TaskType);
            left = left is null ? measured : left.Common(measured);
            if (left.Bytes <= bytes && (bytes != 0 || left.Count <= 0))
            {
                return;
            }
        }

        throw new HeapAssertException(left!.Describe(bytes, reclaims));
    }

    // No frame below this one leads to the block's objects when it has returned. True if something was reclaimed meanwhile.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Run(Block block)
    {
        ulong before = Reclaims();
        block.Run();
        return Reclaims() != before;
    }

    private static ulong Reclaims() => (ulong)Heap.GetStatistics().Reclaims;

    // What the heap deletes later by itself, it deletes now.
    private static void Settle(bool reclaims)
    {
        if (reclaims)
        {
            Reclaim();
            GC.WaitForPendingFinalizers();
            Reclaim();
        }

        OutgrownArrays.DeleteAll();
        PostponedDeletions.Retry(int.MaxValue);
    }

    // A marking may be given up, and then nothing was deleted.
    private static void Reclaim()
    {
        ulong before = Reclaims();
        for (int attempt = 0; attempt < MostReclaims; attempt++)
        {
            Heap.Reclaim();
            if (Reclaims() != before)
            {
                return;
            }
        }

        throw new HeapAssertException("Heap.Reclaim did not come to an end, so what can be reached is not known: the heap had no memory for its marks, or another part of the program holds it up.");
    }

    private static void Frees(long bytes, bool orMore, Block block)
    {
        // What was outgrown or postponed before is not freed by the block.
        Settle(reclaims: false);
        HeapStatistics before = Heap.GetStatistics();
        block.Run();
        PostponedDeletions.Retry(int.MaxValue);
        HeapStatistics after = Heap.GetStatistics();
        // Nor is what the heap deletes by itself meanwhile.
        long freed = after.DeletedBytes - before.DeletedBytes - (after.OutgrownBytes - before.OutgrownBytes) - (after.ReclaimedBytes - before.ReclaimedBytes);
        long objects = after.DeletedObjects - before.DeletedObjects - (after.OutgrownArrays - before.OutgrownArrays) - (after.ReclaimedObjects - before.ReclaimedObjects);
        if (orMore ? freed < bytes : freed != bytes)
        {
            throw new HeapAssertException(FormattableString.Invariant($"The block freed {freed} bytes in {objects} objects, and should have freed {(orMore ? "at least " : "")}{bytes} bytes."));
        }
    }

    // Where its memory is gone, the second deletion of an object throws as a use of it does.
    private static bool IsOfDeletion(DanglingReferenceException exception)
        => exception.StackTrace is { } trace && trace.AsSpan().TrimStart() is var first && first.StartsWith("at System.Heap.Delete", StringComparison.Ordinal);

    private static void Throws<TException>(string nothing, Func<DanglingReferenceException, bool> isWanted, Block block)
        where TException : Exception
    {
        Exception thrown;
        try
        {
            block.Run();
            throw new HeapAssertException(nothing);
        }
        catch (Exception exception) when (exception is TException || (exception is DanglingReferenceException dangling && isWanted(dangling)))
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
