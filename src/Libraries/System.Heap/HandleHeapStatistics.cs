namespace System;

/// <summary>Figures of the heap of handles: objects of C and C++ that was compiled by <c>freehold-cc</c>. All are zero in a process without such code.</summary>
/// <remarks>The properties are generated from src/NativeBridge/Runtime/handle_figures.inc. docs/statistics.md lists them.</remarks>
public readonly partial struct HandleHeapStatistics;
