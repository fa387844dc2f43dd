using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>
/// Many objects of one kind, so many that they fill whole blocks of the heap. After <see cref="Release"/> all of them are deleted and
/// the memory of the one in the middle is surely gone: a use of it cannot behave as if it were alive.
/// </summary>
internal sealed class Neighbours<T>
    where T : class
{
    // Four blocks of 2 MB at least: wherever the first object falls, the block of the middle one holds nothing else.
    private const int Bytes = 10 << 20;

    private readonly T?[] _items;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public Neighbours(Func<int, T> make, int size)
    {
        // In debug mode each object is gone by itself, and a deletion costs a system call.
        int bytes = DebugMode.IsOn ? Bytes / 256 : Bytes;
        _items = new T?[Math.Clamp(bytes / Math.Max(size, 24), 64, 500_000)];
        for (int i = 0; i < _items.Length; i++)
            _items[i] = make(i);
    }

    public int Index => _items.Length / 2;

    public T Victim => _items[Index]!;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Release()
    {
        foreach (T? item in _items)
            Heap.Delete(item);

        // The victim stays where it is: storing it anew would be a use, the array asks for its type.
        _items.AsSpan(0, Index).Clear();
        _items.AsSpan(Index + 1).Clear();
        GC.Collect();
    }

    public static T Gone(Func<int, T> make, int size)
    {
        var neighbours = new Neighbours<T>(make, size);
        neighbours.Release();
        return neighbours.Victim;
    }
}
