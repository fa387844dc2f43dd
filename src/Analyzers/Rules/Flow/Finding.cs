using Microsoft.CodeAnalysis;

namespace Freehold.Analyzers.Flow;

/// <summary>A use or deletion that the analysis saw, with the facts of all paths to it.</summary>
internal sealed class Finding(IOperation operation, string name, bool isDeletion, Facts facts)
{
    public IOperation Operation { get; } = operation;

    public string Name { get; } = name;

    public bool IsDeletion { get; } = isDeletion;

    public Facts Facts { get; set; } = facts;
}
