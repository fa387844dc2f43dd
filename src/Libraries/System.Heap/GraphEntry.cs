using System.Runtime.InteropServices;

namespace System;

/// <summary>The layout of <c>GraphDeletion</c> in heap/graph_deletion.h.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly struct GraphEntry
{
    internal readonly long Objects;
    internal readonly long Bytes;
    internal readonly long Finalizable;
    internal readonly long RootHasLock;
}
