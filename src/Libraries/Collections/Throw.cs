using System;
using System.Diagnostics.CodeAnalysis;

namespace Freehold.Collections;

/// <summary>Exceptions, outside of the methods that are inlined.</summary>
internal static class Throw
{
    [DoesNotReturn]
    internal static void IndexOutOfRange(int index, int count) =>
        throw new ArgumentOutOfRangeException(nameof(index), index, $"The index must be at least 0 and less than the number of elements, {count}.");

    [DoesNotReturn]
    internal static void Modified() =>
        throw new InvalidOperationException("The collection was modified after the enumerator was made. Begin a new enumeration.");

    [DoesNotReturn]
    internal static void TooLong(Type element, int most) =>
        throw new OutOfMemoryException($"A tree of {element} has at most {most} elements.");

    /// <summary>Throws unless the range is within the elements.</summary>
    internal static void UnlessRange(int index, int count, int all)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(index);
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        if (count > all - index)
        {
            throw new ArgumentException($"The range begins at {index} and has {count} elements, and there are {all}.");
        }
    }
}
