namespace Freehold.Rewriter.Escape;

/// <summary>What a value on the evaluation stack is, as far as a read of a field through it is concerned.</summary>
internal enum ValueShape
{
    /// <summary>A structure or reference: a field of a structure is part of it.</summary>
    Plain,

    /// <summary>An address: a field is behind it.</summary>
    Address,

    /// <summary>Either.</summary>
    Either,
}

/// <summary>A value on the evaluation stack: the nodes that it may refer to.</summary>
internal readonly record struct Value(NodeSet Nodes, ValueShape Shape)
{
    /// <summary>A number, null, or a constant that no deletion harms.</summary>
    public static Value Nothing { get; } = new(NodeSet.Empty, ValueShape.Plain);
}
