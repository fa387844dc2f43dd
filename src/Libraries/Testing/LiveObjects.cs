using System.Runtime.InteropServices;

namespace Freehold.Testing;

/// <summary>What is live at one moment, by type and place of allocation, in native memory: reading it allocates no object.</summary>
internal sealed unsafe class LiveObjects : IDisposable
{
    // As in heap/reachability.h.
    private const int NotPossible = 1;
    private const int NoRoom = 2;

    private LeakEntry* _entries;
    private int _capacity = 4096;

    internal ReadOnlySpan<LeakEntry> Entries => new(_entries, _entries is null ? 0 : _capacity);

    /// <summary>All live objects.</summary>
    internal void ReadLive() => Read(lost: false);

    /// <summary>Those that no root leads to.</summary>
    internal void ReadLost() => Read(lost: true);

    public void Dispose()
    {
        NativeMemory.Free(_entries);
        _entries = null;
    }

    private void Read(bool lost)
    {
        while (true)
        {
            if (_entries is null)
            {
                _entries = (LeakEntry*)NativeMemory.Alloc((nuint)_capacity, (nuint)sizeof(LeakEntry));
            }

            int result = lost ? NativeHeap.FindLeaks(_entries, _capacity) : NativeHeap.FindLive(_entries, _capacity);
            if (result == NotPossible)
            {
                throw UnreachableObjects.NoMemory();
            }

            if (result != NoRoom)
            {
                return;
            }

            Dispose();
            _capacity *= 4;
        }
    }
}
