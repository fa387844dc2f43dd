namespace Freehold.Tool.Deaths;

internal enum AdviceKind
{
    /// <summary>What was seen does not agree, or is too little.</summary>
    None,

    /// <summary>A scope in a method.</summary>
    Scope,

    /// <summary>`[Owned]` on a field, or `Heap.DeleteAll` of a collection.</summary>
    Owned,
}
