using System;

namespace Freehold.Collections;

/// <summary>How a sort compares. A structure, so that each order has compiled code of its own.</summary>
internal interface ITreeOrder<T>
{
    /// <summary>Whether a comparison may throw.</summary>
    bool CanThrow { get; }

    int Compare(T left, T right);

    void Sort(Span<T> elements);
}
