using System.Runtime.InteropServices;

namespace Freehold.OneProcessTests;

/// <summary>Heap.Verify finds damage in the heap of handles and in the meshing malloc too. What is found in each of their records, tests/Bridge.Runtime and tests/Meshing.Tests have.</summary>
internal static unsafe class Verification
{
    internal static void Run()
    {
        nint[] handles = [.. Enumerable.Range(0, 100).Select(i => Objects.Make(64, (uint)i))];
        nint[] native = [.. Enumerable.Range(0, 1000).Select(_ => (nint)NativeMemory.Alloc(48))];
        Heap.Verify();
        using (NativePin pin = NativeHandle.Pin(handles[50]))
        {
            // A span of small objects begins with the ids of its slots, at a multiple of 64 KB.
            var address = (nint)pin.Pointer;
            uint* ids = (uint*)(address & ~0xffff);
            uint id = (uint)((ulong)handles[50] >> 32) & int.MaxValue;
            int slot = 0;
            while (ids[slot] != id) slot++;
            ids[slot] = (uint)((ulong)handles[51] >> 32) & int.MaxValue;
            try
            {
                Expect.Throws<InvalidOperationException>(Heap.Verify, "heap of handles: the entry of an object is not its slot");
            }
            finally
            {
                ids[slot] = id;
            }
        }

        Heap.Verify();
        FreeTwice();
        Heap.Verify();
        foreach (nint one in handles) Objects.Free(one);
        foreach (nint one in native) NativeMemory.Free((void*)one);
        Heap.Verify();
    }

    // With another one in between, no free notices it; of a size that nothing else has.
    private static void FreeTwice()
    {
        const int Size = 3500;
        void* one = NativeMemory.Alloc(Size);
        void* other = NativeMemory.Alloc(Size);
        NativeMemory.Free(one);
        NativeMemory.Free(other);
        NativeMemory.Free(one);
        try
        {
            Expect.Throws<InvalidOperationException>(Heap.Verify, "meshing malloc: a thread keeps a slot twice: was an object freed twice?");
        }
        finally
        {
            // The first one stays: the thread keeps its slot still.
            Expect.That(NativeMemory.Alloc(Size) == one, "the last one that was freed is the next");
            NativeMemory.Free(NativeMemory.Alloc(Size));
        }
    }
}
