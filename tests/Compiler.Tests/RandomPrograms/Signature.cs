using System.Collections.Generic;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>A method of a random program.</summary>
/// <param name="Name">The name.</param>
/// <param name="Result">What it returns, or null.</param>
/// <param name="Parameters">With <c>ref</c> or <c>out</c>, if any.</param>
/// <param name="IsIterator">It returns a sequence of nodes.</param>
internal sealed record Signature(string Name, Kind? Result, IReadOnlyList<(string Mode, Kind Kind)> Parameters, bool IsIterator = false);
