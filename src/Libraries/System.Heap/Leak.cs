using System.Collections.Generic;

namespace System;

/// <summary>Objects of one type that nobody deleted and that the program cannot reach any more: see <see cref="Heap.FindLeaks"/>.</summary>
/// <param name="Type">Their type.</param>
/// <param name="Count">How many there are.</param>
/// <param name="Bytes">What they take, headers included.</param>
/// <param name="Sites">Where they were allocated, the most bytes first. Empty if that is not known.</param>
public sealed record Leak(Type Type, long Count, long Bytes, IReadOnlyList<LeakSite> Sites);
