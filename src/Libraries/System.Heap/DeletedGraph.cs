namespace System;

/// <summary>What <see cref="Heap.DeleteGraph"/> has deleted.</summary>
/// <param name="Objects">How many objects.</param>
/// <param name="Bytes">What they took, headers included.</param>
public readonly record struct DeletedGraph(long Objects, long Bytes);
