namespace Freehold.Tool.Deaths;

internal enum AdviceKind
{
    /// <summary>What was seen does not agree, or is too little.</summary>
    None,

    /// <summary>A scope in a method.</summary>
    Scope,

    /// <summary>`[Owned]` on a field.</summary>
    Owned,

    /// <summary>`Heap.Delete` of a field's old value.</summary>
    Replaced,

    /// <summary>Both.</summary>
    OwnedAndReplaced,
}
