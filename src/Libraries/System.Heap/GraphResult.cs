namespace System;

/// <summary>As <c>GraphResult</c> in heap/graph_deletion.h.</summary>
internal enum GraphResult
{
    Deleted = 0,
    NotPossible = 1,
    Finalizable = 2,
    Gone = 3,
    NotInHeap = 4,
}
