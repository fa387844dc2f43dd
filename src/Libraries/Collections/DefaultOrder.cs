using System;
using System.Collections.Generic;

namespace Freehold.Collections;

/// <summary>The elements' own order.</summary>
internal readonly struct DefaultOrder<T> : ITreeOrder<T>
{
    public bool CanThrow => !typeof(T).IsPrimitive;

    public int Compare(T left, T right) => Comparer<T>.Default.Compare(left, right);

    public void Sort(Span<T> elements) => elements.Sort();
}
