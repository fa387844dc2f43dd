using System;

namespace Freehold.Collections;

/// <summary>A program's order.</summary>
internal readonly struct ComparisonOrder<T>(Comparison<T> comparison) : ITreeOrder<T>
{
    public bool CanThrow => true;

    public int Compare(T left, T right) => comparison(left, right);

    public void Sort(Span<T> elements) => elements.Sort(comparison);
}
