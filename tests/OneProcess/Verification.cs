using System.Runtime.InteropServices;

namespace Freehold.OneProcessTests;

/// <summary>Heap.Verify finds damage in the heap of handles too, and goes through the meshing malloc.</summary>
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
        foreach (nint one in handles) Objects.Free(one);
        foreach (nint one in native) NativeMemory.Free((void*)one);
        Heap.Verify();
    }
}
