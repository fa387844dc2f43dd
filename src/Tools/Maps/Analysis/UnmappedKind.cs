namespace Freehold.Maps.Analysis;

/// <summary>Why an instruction lies outside every interruptible range.</summary>
public enum UnmappedKind
{
    /// <summary>Frame set-up at the start of a method or funclet, or frame tear-down before it ends.</summary>
    PrologOrEpilog,

    /// <summary>In the body of a method that has ranges: the JIT's NoGC groups.</summary>
    Hole,

    /// <summary>The method has no range at all.</summary>
    NoRange,
}
