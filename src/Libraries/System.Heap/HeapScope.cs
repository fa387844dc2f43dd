namespace System;

/// <summary>A part of a program's run at whose end is deleted what the thread has allocated in it and nothing outside leads to: see <see cref="Heap.Scope"/>.</summary>
/// <remarks>
/// It belongs to the thread and cannot leave the method: the compiler refuses an <c>await</c> or a <c>yield</c> inside of its <c>using</c>. One that a method forgets to dispose of ends with the
/// scope that encloses it, or stays open as long as the thread runs.
/// </remarks>
public readonly ref struct HeapScope
{
    private readonly long _number;  // 0: there is none

    internal HeapScope(long number) => _number = number;

    /// <summary>Ends the scope, and those that were begun in it and not ended, and deletes. A second call does nothing.</summary>
    /// <remarks>
    /// Stops the other threads while it decides. Finalizers that have not run are run before, on this thread, while everything is alive; an exception from one of them is thrown when
    /// everything is deleted. They run under the locks that the thread holds: end a scope outside of <c>lock</c>.
    /// </remarks>
    public void Dispose()
    {
        if (Heap.IsManual && _number != 0)
        {
            ScopeEnding.End(_number);
        }
    }

    /// <summary>Ends the scope without deletion: what was allocated in it stays, or belongs to the scope around it. A later <see cref="Dispose"/> does nothing.</summary>
    public void Keep()
    {
        if (Heap.IsManual && _number != 0)
        {
            NativeHeap.LeaveScope(_number);
        }
    }
}
