using System.Runtime.InteropServices;

namespace Freehold.OneProcessTests;

/// <summary>NativeHandle.Pin, while everything that nothing pins moves.</summary>
internal static unsafe class Pins
{
    internal static void Run()
    {
        APinnedObjectStays();
        PinsNestAndEndInAnyOrder();
        WrongHandlesAreNamed();
        AddressesAreTakenAsTheyAre();
        ManyThreadsPin();
        CallbacksPin();
        Expect.That(Objects.FreeForeign(2000) == 1, "memory of the C library, freed by compiled code");
        Heap.Verify();
    }

    private static nint AddressOf(nint handle)
    {
        using NativePin pin = NativeHandle.Pin(handle);
        return (nint)pin.Pointer;
    }

    private static void APinnedObjectStays()
    {
        foreach (int size in new[] { 16, 100, 4000, 9000, 1_000_000 })
        {
            nint handle = Objects.Make((nuint)size, 3);
            Expect.That(NativeHandle.IsHandle(handle), $"{handle:x} is no handle");
            nint before = AddressOf(handle);
            Objects.MoveEverything();
            Expect.That(AddressOf(handle) != before, $"an object of {size} bytes did not move without a pin");
            using (NativePin pin = NativeHandle.Pin(handle))
            {
                byte* pointer = (byte*)pin.Pointer;
                Expect.That(pin.Length >= size && pin.Span.Length == pin.Length, $"{pin.Length} bytes of {size}");
                for (int round = 0; round < 5; round++)
                {
                    Objects.MoveEverything();
                    Expect.That(AddressOf(handle) == (nint)pointer, "a pinned object has moved");
                    for (int i = 0; i < size; i++) Expect.That(pin.Span[i] == Objects.At(i, 3), $"byte {i} of {size}");
                }

                pin.Span[size - 1] = 77;
                Expect.That(Objects.IsIntact(handle, (nuint)size, 3) == 0, "a store through the span is not seen");
                pin.Span[size - 1] = Objects.At(size - 1, 3);
            }

            nint last = AddressOf(handle);
            Objects.MoveEverything();
            Expect.That(AddressOf(handle) != last, "an object does not move any more after its pin");
            Expect.That(Objects.IsIntact(handle, (nuint)size, 3) == 1, "contents");
            Objects.Free(handle);
        }
    }

    private static void PinsNestAndEndInAnyOrder()
    {
        nint handle = Objects.Make(200, 9), inside = Objects.Inside(handle, 150);
        NativePin first = NativeHandle.Pin(handle), second = NativeHandle.Pin(handle), third = NativeHandle.Pin(inside);
        Expect.That((byte*)third.Pointer == (byte*)first.Pointer + 150 && third.Length == first.Length - 150, "a handle into an object");
        nint address = (nint)first.Pointer;
        first.Dispose();
        first.Dispose();
        Objects.MoveEverything();
        Expect.That((nint)second.Pointer == address && AddressOf(handle) == address, "the second pin does not hold");
        second.Dispose();
        Objects.MoveEverything();
        Expect.That(AddressOf(handle) == address, "the third pin does not hold");
        NativePin copy = third;
        third.Dispose();
        bool refused = false;
        try { copy.Dispose(); } catch (InvalidOperationException) { refused = true; }
        Expect.That(refused, "a copy was let go as well");
        Objects.MoveEverything();
        Expect.That(AddressOf(handle) != address, "it stays without a pin");
        Objects.Free(handle);
    }

    private static void WrongHandlesAreNamed()
    {
        Expect.Throws<ArgumentNullException>(() => NativeHandle.Pin(0).Dispose(), "handle");
        nint handle = Objects.Make(64, 1);
        string name = $"0x{handle:x}";
        using (NativePin pin = NativeHandle.Pin(handle))
        {
            bool refused = false;
            try { pin.GetSpan((int)pin.Length + 1); } catch (ArgumentOutOfRangeException) { refused = true; }
            Expect.That(refused, "a span beyond the object");
        }

        Expect.Throws<ArgumentException>(() => NativeHandle.Pin(Objects.Inside(handle, 100_000)).Dispose(), "points 100000 bytes behind the start");
        Expect.Throws<ArgumentException>(() => NativeHandle.Pin(Objects.Inside(handle, -8)).Dispose(), "points -8 bytes behind the start");
        Objects.Free(handle);
        Expect.Throws<ObjectDisposedException>(() => NativeHandle.Pin(handle).Dispose(), name);
        Expect.Throws<ArgumentException>(() => NativeHandle.Pin(unchecked((nint)0xf000_0000_2000_0000)).Dispose(), "no handle that was given out");
    }

    private static void AddressesAreTakenAsTheyAre()
    {
        void* memory = NativeMemory.Alloc(100);
        using NativePin pin = NativeHandle.Pin((nint)memory);
        Expect.That(pin.Pointer == memory && pin.Length == -1 && pin.GetSpan(100).Length == 100, "an address");
        bool refused = false;
        try { _ = pin.Span.Length; } catch (InvalidOperationException) { refused = true; }
        Expect.That(refused, "a span of unknown length");
        NativeMemory.Free(memory);
    }

    private static void ManyThreadsPin()
    {
        var handles = new nint[64];
        for (int i = 0; i < handles.Length; i++) handles[i] = Objects.Make((nuint)(32 + 8 * i), (uint)i);
        bool stop = false;
        Exception? failure = null;
        var mover = new Thread(() =>
        {
            while (!Volatile.Read(ref stop)) Objects.MoveEverything();
        });
        mover.Start();
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(t => new Thread(() =>
        {
            try
            {
                for (int i = 0; i < 4000; i++)
                {
                    int at = (i * 31 + t * 7) % handles.Length;
                    using NativePin pin = NativeHandle.Pin(handles[at]);
                    Span<byte> span = pin.GetSpan(32 + 8 * at);
                    for (int k = 0; k < span.Length; k++) Expect.That(span[k] == Objects.At(k, (uint)at), $"byte {k} of object {at}");
                }
            }
            catch (Exception exception)
            {
                failure = exception;
            }
        }))];
        foreach (Thread thread in threads) thread.Start();
        foreach (Thread thread in threads) thread.Join();
        Volatile.Write(ref stop, true);
        mover.Join();
        Expect.That(failure == null, failure?.ToString() ?? "");
        for (int i = 0; i < handles.Length; i++) Objects.Free(handles[i]);
    }

    private static void CallbacksPin() => Expect.That(Objects.Visit(500, &Visit) == 1, "a callback");

    // C calls with an address, as C# is code without handles.
    [UnmanagedCallersOnly]
    private static int Visit(nint memory, nuint size, uint seed)
    {
        using NativePin pin = NativeHandle.Pin(memory);
        Objects.MoveEverything();
        Span<byte> bytes = pin.GetSpan((int)size);
        for (int i = 0; i < bytes.Length; i++)
        {
            if (bytes[i] != Objects.At(i, seed)) return 0;
        }

        return 1;
    }
}
