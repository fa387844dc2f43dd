namespace System;

/// <summary>Who holds memory while it is short: see <see cref="Heap.MemoryPressure"/>.</summary>
public sealed class MemoryPressureEventArgs : EventArgs
{
    internal MemoryPressureEventArgs()
    {
    }

    /// <summary>Made before, when there was memory.</summary>
    internal void Fill(in Notice notice, long handleBytes)
    {
        HeapBytes = notice.HeapBytes;
        LiveBytes = notice.LiveBytes;
        HeapLimit = notice.HeapLimit;
        NativeBytes = notice.NativeBytes;
        HandleBytes = handleBytes;
        ProcessLimit = notice.ProcessLimit;
    }

    /// <summary>Who holds most: "managed" (<see cref="HeapBytes"/>), "native" (<see cref="NativeBytes"/>) or "handles" (<see cref="HandleBytes"/>).</summary>
    public string Largest => HeapBytes >= NativeBytes && HeapBytes >= HandleBytes ? "managed" : NativeBytes >= HandleBytes ? "native" : "handles";

    /// <summary>Memory of the managed heap: of live objects, and of deleted ones beside them.</summary>
    public long HeapBytes { get; private set; }

    /// <summary>The part of <see cref="HeapBytes"/> that belongs to objects that were not deleted.</summary>
    public long LiveBytes { get; private set; }

    /// <summary>How far <see cref="HeapBytes"/> may go: <c>FREEHOLD_HEAP_LIMIT</c>, or what the other heaps leave of <c>FREEHOLD_MEMORY_LIMIT</c> if that is less.</summary>
    public long HeapLimit { get; private set; }

    /// <summary>Memory of the meshing malloc (<c>FreeholdNativeHeap=mesh</c>); 0 in a program with the malloc of the C library, whose memory is not known.</summary>
    public long NativeBytes { get; private set; }

    /// <summary>Memory of the heap of handles (C and C++ compiled by <c>freehold-cc</c>); 0 without such code.</summary>
    public long HandleBytes { get; private set; }

    /// <summary>What the process may take: <c>FREEHOLD_MEMORY_LIMIT</c>, else the memory of the container that it runs in, else of the machine.</summary>
    public long ProcessLimit { get; private set; }
}
