using System;

namespace Freehold.Analyzers.Flow;

/// <summary>What is known of the object that a variable refers to. At a place that several paths reach, the bits of all paths.</summary>
[Flags]
internal enum Facts
{
    None = 0,

    /// <summary>On some path it is not deleted.</summary>
    Alive = 1,

    /// <summary>On some path it is deleted.</summary>
    Deleted = 2,

    /// <summary>From a pool.</summary>
    Pooled = 4,

    /// <summary>A literal, a Type or another object of the runtime.</summary>
    Runtime = 8,

    /// <summary>From a static readonly field.</summary>
    Static = 16,

    /// <summary>From anywhere else.</summary>
    Other = 32,

    Origins = Pooled | Runtime | Static | Other,
}
