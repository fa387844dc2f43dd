namespace Freehold.Testing;

/// <summary>Assertions on Freehold's heap: one that does not hold throws <see cref="HeapAssertException"/>.</summary>
/// <remarks>
/// A test runs on the garbage collector, where none of this is true. So each method runs its block in a published child, as <see cref="PublishedTest.Run(Action, PublishedTestOptions?)"/> does, in debug mode. In that
/// child, and in every other program published with Freehold, the block runs at once where it is.
/// </remarks>
public static class HeapAssert
{
    /// <summary>The block deletes all that it allocates: behind it no type has more live objects, or more bytes of them, than before.</summary>
    /// <param name="block">
    /// Runs twice: the first time fills caches of the framework and runs static constructors, the second time counts. If something is left, it runs a few times more: what one run happens to make for a thread or a
    /// processor, the next one does not, and only what each of them leaves is told.
    /// </param>
    /// <exception cref="HeapAssertException">It leaves something. The message has the types, and with <c>FREEHOLD_DEBUG=stacks</c> (as in the child) the places of allocation.</exception>
    /// <remarks>
    /// What framework methods allocate inside and drop counts too. <see cref="Heap.Scope"/> deletes such objects; <see cref="KeepsNothing(Action)"/> passes over them. Objects that other threads allocate meanwhile count, too.
    /// </remarks>
    public static void LeavesNothing(Action block) => LeavesAtMost(0, block);

    /// <summary>As <see cref="LeavesNothing(Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="block">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void LeavesNothing(Func<Task> block) => LeavesAtMost(0, block);

    /// <summary>As <see cref="LeavesNothing(Action)"/>, but some bytes may stay.</summary>
    /// <param name="bytes">How many, of all types together.</param>
    /// <param name="block">Runs as in <see cref="LeavesNothing(Action)"/>.</param>
    /// <exception cref="HeapAssertException">It leaves more.</exception>
    public static void LeavesAtMost(long bytes, Action block) => Check(Assertion.LeavesAtMost, bytes, block);

    /// <summary>As <see cref="LeavesAtMost(long, Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="bytes">As there.</param>
    /// <param name="block">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void LeavesAtMost(long bytes, Func<Task> block) => Check(Assertion.LeavesAtMost, bytes, block);

    /// <summary>Behind the block nothing more than before can be reached, from statics, caches, events, other threads: the heap would delete the rest by itself, without deletion by the program.</summary>
    /// <param name="block">Runs as in <see cref="LeavesNothing(Action)"/>.</param>
    /// <exception cref="HeapAssertException">Objects stay though all that is unreachable was deleted (<see cref="Heap.Reclaim"/>).</exception>
    public static void KeepsNothing(Action block) => Check(Assertion.KeepsNothing, 0, block);

    /// <summary>As <see cref="KeepsNothing(Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="block">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void KeepsNothing(Func<Task> block) => Check(Assertion.KeepsNothing, 0, block);

    /// <summary>The block's deletions give back exactly so many bytes, headers included.</summary>
    /// <param name="bytes">How many.</param>
    /// <param name="block">Runs once.</param>
    /// <exception cref="HeapAssertException">It was another number; the message has it.</exception>
    public static void Frees(long bytes, Action block) => Check(Assertion.Frees, bytes, block);

    /// <summary>As <see cref="Frees(long, Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="bytes">As there.</param>
    /// <param name="block">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void Frees(long bytes, Func<Task> block) => Check(Assertion.Frees, bytes, block);

    /// <summary>As <see cref="Frees(long, Action)"/>, but it may be more.</summary>
    /// <param name="bytes">How many at least.</param>
    /// <param name="block">Runs once.</param>
    /// <exception cref="HeapAssertException">It was less; the message has the number.</exception>
    public static void FreesAtLeast(long bytes, Action block) => Check(Assertion.FreesAtLeast, bytes, block);

    /// <summary>As <see cref="FreesAtLeast(long, Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="bytes">As there.</param>
    /// <param name="block">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void FreesAtLeast(long bytes, Func<Task> block) => Check(Assertion.FreesAtLeast, bytes, block);

    /// <summary>The block uses a deleted object: it throws <see cref="DanglingReferenceException"/>.</summary>
    /// <param name="use">Runs once. Only in debug mode, as in the child, does every use throw.</param>
    /// <exception cref="HeapAssertException">It throws nothing, or another exception.</exception>
    public static void ThrowsDangling(Action use) => Check(Assertion.ThrowsDangling, 0, use);

    /// <summary>As <see cref="ThrowsDangling(Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="use">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void ThrowsDangling(Func<Task> use) => Check(Assertion.ThrowsDangling, 0, use);

    /// <summary>The block deletes an object for the second time: it throws <see cref="DoubleDeleteException"/>, or <see cref="DanglingReferenceException"/> where the memory is gone.</summary>
    /// <param name="deletion">Runs once.</param>
    /// <exception cref="HeapAssertException">It throws nothing, or another exception, or uses a deleted object before.</exception>
    public static void ThrowsDoubleDelete(Action deletion) => Check(Assertion.ThrowsDoubleDelete, 0, deletion);

    /// <summary>As <see cref="ThrowsDoubleDelete(Action)"/>, for an asynchronous block, which is run to its end. The task that it returns does not count.</summary>
    /// <param name="deletion">As there.</param>
    /// <exception cref="HeapAssertException">As there.</exception>
    public static void ThrowsDoubleDelete(Func<Task> deletion) => Check(Assertion.ThrowsDoubleDelete, 0, deletion);

    private static void Check(Assertion assertion, long bytes, Delegate block)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        ArgumentNullException.ThrowIfNull(block);
        if (Heap.IsManual)
        {
            TestCall.RefuseAsyncVoid(block);
            HeapChecks.Apply(assertion, bytes, block is Func<Task> asynchronous ? new Block(asynchronous) : new Block((Action)block));
        }
        else
        {
            PublishedTest.Run(block, assertion, bytes, new PublishedTestOptions());
        }
    }
}
