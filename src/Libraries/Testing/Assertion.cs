namespace Freehold.Testing;

/// <summary>What the child does with the delegate that it is given: calls it, or calls it under an assertion of <see cref="HeapAssert"/>.</summary>
internal enum Assertion
{
    None,
    LeavesAtMost,
    KeepsNothing,
    Frees,
    FreesAtLeast,
    ThrowsDangling,
    ThrowsDoubleDelete,
}
