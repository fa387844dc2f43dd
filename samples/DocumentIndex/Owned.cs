using System.Runtime.CompilerServices;

namespace DocumentIndex;

/// <summary>
/// The one place where this program gives memory back. <see cref="Heap.IsManual"/> is a constant of the published program:
/// under a garbage collector the call and the test are both gone.
/// </summary>
internal static class Owned
{
    /// <summary>Ends the life of an object that nothing else refers to any more.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static void Release(object? o)
    {
        if (Heap.IsManual)
        {
            Heap.Delete(o);
        }
    }

    /// <summary>Replaces an array by a longer one with the same beginning.</summary>
    public static void Grow<T>(ref T[] array, int minimumLength)
    {
        var longer = new T[Math.Max(minimumLength, array.Length * 2)];
        Array.Copy(array, longer, array.Length);
        Release(array);
        array = longer;
    }
}
