using System.Collections.Generic;

namespace Freehold.Rewriter.Escape;

/// <summary>An object of which the plan knows the end.</summary>
/// <param name="Index">The instruction that makes it, in the order of the code.</param>
/// <param name="HasParts">Its class's own parts end with it, if it is one of those that own some.</param>
/// <param name="IsResult">A method returns it: it may be an empty array, which is shared.</param>
/// <param name="Arguments">Arguments of the call that may be returned instead, by their bits.</param>
public sealed record PlannedObject(int Index, bool HasParts, bool IsResult, ulong Arguments);

/// <summary>Where a method deletes what it made: before which instruction, of each object.</summary>
public sealed record DeletionPlan(IReadOnlyList<PlannedObject> Objects, IReadOnlyList<(int Before, int Object)> Deletions);
