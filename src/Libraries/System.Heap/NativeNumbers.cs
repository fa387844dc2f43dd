using System.Runtime.InteropServices;

namespace System;

/// <summary>Numbers values from 0 on, in the order in which they come. In native memory: it grows without an object of the program's heap. One thread.</summary>
internal sealed unsafe class NativeNumbers : IDisposable
{
    private const int First = 256;

    private nint* _values;
    private int* _table;  // one more than the number; 0: free. Twice as many places as values
    private int _capacity;

    internal int Count { get; private set; }

    internal nint this[int number] => (uint)number < (uint)Count ? _values[number] : throw new ArgumentOutOfRangeException(nameof(number));

    internal int Of(nint value)
    {
        if (Count == _capacity)
        {
            Grow();
        }

        int place = Find(value);
        if (_table[place] == 0)
        {
            _values[Count++] = value;
            _table[place] = Count;
        }

        return _table[place] - 1;
    }

    public void Dispose()
    {
        NativeMemory.Free(_values);
        NativeMemory.Free(_table);
        _values = null;
        _table = null;
        _capacity = Count = 0;
    }

    // Where it is, or would be.
    private int Find(nint value)
    {
        int mask = (2 * _capacity) - 1, place = (int)((ulong)value * 0x9e3779b97f4a7c15 >> 33) & mask;
        while (_table[place] != 0 && _values[_table[place] - 1] != value)
        {
            place = (place + 1) & mask;
        }

        return place;
    }

    private void Grow()
    {
        int capacity = _capacity == 0 ? First : 2 * _capacity;
        _values = (nint*)NativeMemory.Realloc(_values, (nuint)capacity * (nuint)sizeof(nint));
        int* table = (int*)NativeMemory.AllocZeroed(2 * (nuint)capacity, sizeof(int));
        NativeMemory.Free(_table);
        _table = table;
        _capacity = capacity;
        for (int i = 0; i < Count; i++)
        {
            _table[Find(_values[i])] = i + 1;
        }
    }
}
