#if NET10_0_OR_GREATER
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>The generic handles of .NET 10.</summary>
internal static unsafe class GenericHandles
{
    public static IEnumerable<Case> All()
    {
        yield return new("handle-generic", _ => Strong());
        yield return new("handle-generic-weak", _ => Weak());
        yield return new("pin-handle-generic", _ => PinnedStays());
        yield return new("pin-handle-generic-gone", _ => GoneIsNotPinned());
    }

    private static void Strong()
    {
        using var handle = new GCHandle<Subject>(new Subject(5));
        Expect.Equal(5, handle.Target.Number);
        Subject other = new(6);
        handle.Target = other;
        Expect.True(handle.Target == other);
        Heap.Delete(other);
        Expect.SecondDeleteThrows(handle.Target);
        var large = new int[400_000];
        using var dangling = new GCHandle<int[]>(large);
        Heap.Delete(large);
        Expect.Throws<DanglingReferenceException>(() => dangling.Target[7]++);
    }

    private static void Weak()
    {
        foreach (bool trackResurrection in new[] { false, true })
        {
            Subject subject = new(5);
            using var handle = new WeakGCHandle<Subject>(subject, trackResurrection);
            Expect.True(handle.TryGetTarget(out Subject? target) && target == subject);
            Heap.Delete(subject);
            Expect.True(!handle.TryGetTarget(out _));
            handle.SetTarget(new Subject(6));
            Expect.True(handle.TryGetTarget(out target) && target.Number == 6);
        }
    }

    private static void PinnedStays()
    {
        var handles = new List<PinnedGCHandle<byte[]>>();
        for (byte i = 0; i < 200; i++)
        {
            for (int j = 0; j < 20; j++)
                Heap.Delete(new byte[100]);
            var handle = new PinnedGCHandle<byte[]>([0, 0, 0]);
            // Each target replaces one that was pinned before.
            handle.Target = [i, (byte)(i + 1), 3];
            handles.Add(handle);
        }
        byte*[] addresses = new byte*[handles.Count];
        for (int i = 0; i < addresses.Length; i++)
            addresses[i] = (byte*)handles[i].GetAddressOfArrayData();
        Heap.Compact();
        for (int i = 0; i < addresses.Length; i++)
        {
            Expect.True(addresses[i] == handles[i].GetAddressOfArrayData());
            Expect.True(addresses[i][0] == (byte)i && addresses[i][2] == 3);
            // Its memory goes with the last pin.
            Heap.Delete(handles[i].Target);
            Expect.True(addresses[i][1] == (byte)(i + 1));
            handles[i].Dispose();
        }
    }

    private static void GoneIsNotPinned()
    {
        var large = new int[400_000];
        Heap.Delete(large);
        Expect.Throws<DanglingReferenceException>(() => new PinnedGCHandle<int[]>(large).Dispose());
        using var handle = new PinnedGCHandle<int[]>([1]);
        Expect.Throws<DanglingReferenceException>(() => Set(handle, large));
        Expect.Equal(1, handle.Target[0]);

        static void Set(PinnedGCHandle<int[]> handle, int[] target) => handle.Target = target;
    }
}
#endif
