namespace Freehold.Analyzers;

/// <summary>What the rules about a body depend on beside the body.</summary>
/// <param name="isLibrary">Whether calls of Heap are told of.</param>
/// <param name="keepsLocals">Whether locals need no deletion: they live as long as the program, or the compiler deletes them.</param>
internal readonly struct BodyOptions(bool isLibrary, bool keepsLocals)
{
    public bool IsLibrary { get; } = isLibrary;

    public bool KeepsLocals { get; } = keepsLocals;
}
