using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Point 6: whatever pins an object holds its memory for native code and the kernel, after its deletion too, and no longer.</summary>
internal static unsafe partial class Pinning
{
    private const int Sent = 150;

    private delegate nint Read(int file, byte[] buffer);

    private struct Block
    {
        public fixed byte Bytes[Sent];
    }

    public static IEnumerable<Case> All()
    {
        // Every way in which a buffer gets to native code; each waits in read(2) while the buffer is deleted.
        (string Name, Read Read)[] ways =
        [
            ("array", (file, buffer) => ReadArray(file, buffer, (nuint)buffer.Length)),
            ("ref", (file, buffer) => ReadReference(file, ref buffer[0], (nuint)buffer.Length)),
            ("out", (file, buffer) => ReadOut(file, out MemoryMarshal.Cast<byte, Block>(buffer.AsSpan())[0], Sent)),
            ("span", (file, buffer) => ReadSpan(file, buffer, (nuint)buffer.Length)),
            ("function", ReadFunction),
            ("function-generic", (file, buffer) => ReadGeneric(s_address, file, buffer)),
            ("delegate", (file, buffer) => s_readArray(file, buffer, (nuint)buffer.Length)),
            ("accessor", (file, buffer) => ReadByAccessor(null, file, buffer, (nuint)buffer.Length)),
            ("interface", ReadByInterface<Importer>),
            ("created", (file, buffer) => s_created(file, buffer, (nuint)buffer.Length)),
            ("created-of-delegate", (file, buffer) => s_createdOfDelegate(file, buffer, (nuint)buffer.Length)),
            ("delegate-out", (file, buffer) => s_readBlock(file, out MemoryMarshal.Cast<byte, Block>(buffer.AsSpan())[0], Sent)),
            ("fixed", ReadFixed),
            ("memory", ReadMemory),
            ("handle", ReadHandle),
        ];
        foreach ((string name, Read read) in ways)
            yield return new("pin-read-" + name, _ => ReadsIntoDeleted(read));
        yield return new("pin-string", _ => StringOfNativeCall());
        yield return new("pin-target", _ => HandleChangesItsTarget());
        yield return new("pin-gone", _ => GoneIsNotPinned());
        yield return new("pin-ends", _ => MemoryGoesWithThePin());
        yield return new("pin-exception", _ => AnExceptionUnpins());
        yield return new("pin-threads", arguments => Threads(arguments is [string rounds] ? int.Parse(rounds) : 4));
    }

#pragma warning disable SYSLIB1054 // what the compiler itself marshals is the point
    [DllImport("libc", EntryPoint = "read", SetLastError = true)]
    private static extern nint ReadArray(int file, byte[] buffer, nuint count);

    [DllImport("libc", EntryPoint = "read", SetLastError = true)]
    private static extern nint ReadReference(int file, ref byte buffer, nuint count);

    [DllImport("libc", EntryPoint = "read", SetLastError = true)]
    private static extern nint ReadOut(int file, out Block buffer, nuint count);

    [DllImport("libc", EntryPoint = "write", SetLastError = true, CharSet = CharSet.Unicode)]
    private static extern nint WriteText(int file, string text, nuint count);
#pragma warning restore SYSLIB1054

    [LibraryImport("libc", EntryPoint = "read", SetLastError = true)]
    private static partial nint ReadSpan(int file, Span<byte> buffer, nuint count);

    [LibraryImport("libc", EntryPoint = "read", SetLastError = true)]
    private static partial nint ReadPointer(int file, byte* buffer, nuint count);

    [LibraryImport("libc", SetLastError = true)]
    private static partial int pipe(Span<int> ends);

    [LibraryImport("libc", SetLastError = true)]
    private static partial nint write(int file, ReadOnlySpan<byte> buffer, nuint count);

    private delegate nint ReadIntoArray(int file, byte[] buffer, nuint count);

    private delegate nint ReadIntoBlock(int file, out Block buffer, nuint count);

    private static readonly nint s_address = NativeLibrary.GetExport(NativeLibrary.Load("libc.so.6"), "read");
    private static readonly delegate* unmanaged<int, ref byte, nuint, nint> s_read = (delegate* unmanaged<int, ref byte, nuint, nint>)s_address;
    private static readonly ReadIntoArray s_readArray = Marshal.GetDelegateForFunctionPointer<ReadIntoArray>(s_address);
    private interface IReader
    {
        static abstract nint Read(int file, byte[] buffer, nuint count);
    }

    // No call of these names them.
    private sealed class Importer : IReader
    {
#pragma warning disable SYSLIB1054 // as above
        [DllImport("libc", EntryPoint = "read", SetLastError = true)]
        public static extern nint Read(int file, byte[] buffer, nuint count);

        [DllImport("libc", EntryPoint = "read", SetLastError = true)]
        private static extern nint ReadPrivately(int file, byte[] buffer, nuint count);
#pragma warning restore SYSLIB1054
    }

    [UnsafeAccessor(UnsafeAccessorKind.StaticMethod, Name = "ReadPrivately")]
    private static extern nint ReadByAccessor(Importer? importer, int file, byte[] buffer, nuint count);

    private static nint ReadByInterface<T>(int file, byte[] buffer)
        where T : IReader => T.Read(file, buffer, (nuint)buffer.Length);

    private static readonly ReadIntoArray s_created = typeof(Importer).GetMethod(nameof(Importer.Read))!.CreateDelegate<ReadIntoArray>();
    private static readonly ReadIntoArray s_createdOfDelegate = typeof(ReadIntoArray).GetMethod(nameof(ReadIntoArray.Invoke))!.CreateDelegate<ReadIntoArray>(s_readArray);
    private static readonly ReadIntoBlock s_readBlock = Marshal.GetDelegateForFunctionPointer<ReadIntoBlock>(s_address);

    private static nint ReadFunction(int file, byte[] buffer) => s_read(file, ref buffer[0], (nuint)buffer.Length);

    private static nint ReadGeneric<T>(nint function, int file, T[] buffer)
        where T : unmanaged => ((delegate* unmanaged<int, T[], nuint, nint>)function)(file, buffer, (nuint)buffer.Length);

    private static nint ReadFixed(int file, byte[] buffer)
    {
        fixed (byte* pointer = buffer)
        {
            nint got = ReadPointer(file, pointer, (nuint)buffer.Length);
            CheckReceived(pointer);
            return got;
        }
    }

    private static nint ReadMemory(int file, byte[] buffer)
    {
        using var handle = buffer.AsMemory().Pin();
        nint got = ReadPointer(file, (byte*)handle.Pointer, Sent);
        CheckReceived((byte*)handle.Pointer);
        return got;
    }

    private static nint ReadHandle(int file, byte[] buffer)
    {
        var handle = GCHandle.Alloc(buffer, GCHandleType.Pinned);
        nint got = ReadPointer(file, (byte*)handle.AddrOfPinnedObject(), Sent);
        CheckReceived((byte*)handle.AddrOfPinnedObject());
        handle.Free();
        return got;
    }

    private static void CheckReceived(byte* pointer)
    {
        for (int i = 0; i < Sent; i++)
        {
            if (pointer[i] != (byte)(i + 1))
                throw new ContractException($"byte {i} of what was read is {pointer[i]}");
        }
    }

    private const int ReadCall = 0, WriteCall = 1;

    /// <summary>The end to read from, the end to write to.</summary>
    public static int[] Pipe()
    {
        int[] ends = new int[2];
        Expect.Equal(0, pipe(ends));
        return ends;
    }

    // Fills what was given back with other values, if it was.
    private static void Churn(int megabytes)
    {
        for (int i = 0; i < megabytes * 10; i++)
        {
            byte[] garbage = new byte[10_000 * (i % 10 + 1)];
            garbage.AsSpan().Fill(0xEE);
            Heap.Delete(garbage);
        }
        byte[] huge = new byte[4 << 20];
        huge.AsSpan().Fill(0xEE);
        Heap.Delete(huge);
        GC.Collect();
    }

    private static void ReadsIntoDeleted(Read read)
    {
        int[] ends = Pipe();
        byte[] message = [.. Enumerable.Range(1, Sent).Select(i => (byte)i)];
        foreach (int length in new[] { 200, 5_000, 60_000, 3_000_000 })
        {
            var neighbours = new Neighbours<byte[]>(_ => new byte[length], length + 24);
            byte[] buffer = neighbours.Victim;
            nint got = -2;
            int error = 0;
            Exception? failure = null;
            // Not in read(2) yet, it may find the buffer gone: that is no failure of a pin.
            var reader = new WaitingThread(
                () =>
                {
                    try
                    {
                        got = read(ends[0], buffer);
                        error = Marshal.GetLastPInvokeError();
                    }
                    catch (Exception exception)
                    {
                        failure = exception;
                    }
                },
                ReadCall);
            neighbours.Release();
            Churn(2);
            Thread.Sleep(120);
            Churn(1);
            write(ends[1], message, Sent);
            reader.Join();
            if (failure is not null)
                throw new ContractException($"{length} bytes: the reader threw {failure}");
            if (got != Sent)
                throw new ContractException($"{length} bytes: read gave {got}, errno {error}");
        }
    }

    // A full pipe: write(2) goes on reading the string after its deletion.
    private static void StringOfNativeCall()
    {
        int[] ends = Pipe();
        const int Length = 100_000;
        var neighbours = new Neighbours<string>(_ => new string('x', Length), 2 * Length + 22);
        string text = neighbours.Victim;
        nint written = 0;
        var writer = new WaitingThread(() => written = WriteText(ends[1], text, 2 * Length), WriteCall);
        neighbours.Release();
        Churn(2);
        Thread.Sleep(120);
        Churn(1);
        byte[] part = new byte[4_096];
        for (int total = 0; total < 2 * Length;)
        {
            int got = (int)ReadSpan(ends[0], part, (nuint)part.Length);
            Expect.True(got > 0);
            for (int i = 0; i < got; i++, total++)
                Expect.True(part[i] == (total % 2 == 0 ? 'x' : 0), "the text arrives");
        }
        writer.Join();
        Expect.Equal((nint)(2 * Length), written);
    }

    private static void HandleChangesItsTarget()
    {
        var first = new Neighbours<byte[]>(i => [(byte)i, 1], 32);
        var second = new Neighbours<byte[]>(i => [(byte)i, 2], 32);
        var handle = GCHandle.Alloc(first.Victim, GCHandleType.Pinned);
        handle.Target = second.Victim;
        byte* pointer = (byte*)handle.AddrOfPinnedObject();
        byte expected = pointer[0];
        first.Release();
        second.Release();
        Churn(2);
        Expect.Equal((expected, (byte)2), (pointer[0], pointer[1]));
        Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(first.Victim[0]));
        handle.Target = null;
        GC.Collect();
        Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(second.Victim[0]));
        handle.Free();
    }

    private static void GoneIsNotPinned()
    {
        byte[] gone = Neighbours<byte[]>.Gone(_ => new byte[100], 124);
        Expect.Throws<DanglingReferenceException>(() => { fixed (byte* pointer = gone) GC.KeepAlive((nint)pointer); });
        Expect.Throws<DanglingReferenceException>(() => GCHandle.Alloc(gone, GCHandleType.Pinned));
        Expect.Throws<DanglingReferenceException>(() => ReadArray(-1, gone, 1));
        var handle = GCHandle.Alloc(new byte[1], GCHandleType.Pinned);
        Expect.Throws<DanglingReferenceException>(() => handle.Target = gone);
        handle.Free();
        // A handle of another type pins nothing, and asks nothing.
        var weak = GCHandle.Alloc(gone, GCHandleType.Weak);
        Expect.True(weak.Target is null);
        weak.Free();
        GCHandle.Alloc(null, GCHandleType.Pinned).Free();
    }

    private static void MemoryGoesWithThePin()
    {
        foreach (int length in new[] { 1_000, 50_000, 3_000_000 })
        {
            var neighbours = new Neighbours<byte[]>(_ => new byte[length], length + 24);
            byte[] victim = neighbours.Victim;
            fixed (byte* pointer = victim)
            {
                neighbours.Release();
                pointer[0] = 7;
                Expect.Equal(7, pointer[0]);
            }
            GC.Collect();
            Expect.Throws<DanglingReferenceException>(() => victim[0] = 1);
            // The same without a collection: the heap's own thread finds out.
            neighbours = new Neighbours<byte[]>(_ => new byte[length], length + 24);
            victim = neighbours.Victim;
            fixed (byte* pointer = victim)
            {
                neighbours.Release();
                Thread.Sleep(120);
                pointer[0] = 7;
            }
            Expect.Eventually(() => IsGone(victim), "the memory goes by itself");
        }
    }

    private static bool IsGone(byte[] array)
    {
        try
        {
            array[0] = 1;
            return false;
        }
        catch (DanglingReferenceException)
        {
            return true;
        }
    }

    private static void AnExceptionUnpins()
    {
        var neighbours = new Neighbours<byte[]>(_ => new byte[300], 324);
        byte[] victim = neighbours.Victim;
        Expect.Throws<InvalidOperationException>(() => Fail(victim));
        neighbours.Release();
        Expect.Throws<DanglingReferenceException>(() => victim[0] = 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Fail(byte[] array)
    {
        fixed (byte* pointer = array)
        {
            pointer[1] = 1;
            throw new InvalidOperationException();
        }
    }

    // Arrays go from thread to thread; each is pinned by one while another deletes it.
    private static void Threads(int rounds)
    {
        const int Slots = 200;
        byte[]?[] slots = new byte[Slots][];
        string? failure = null;
        long pins = 0, refused = 0;

        void Work(int seed)
        {
            var random = new Random(seed);
            for (int step = 0; step < rounds * 20_000 && failure is null; step++)
            {
                int slot = random.Next(Slots);
                if (random.Next(3) == 0)
                {
                    int length = random.Next(50) == 0 ? random.Next(100_000) + 16 : random.Next(2_000) + 16;
                    byte[] fresh = new byte[length];
                    fresh.AsSpan().Fill((byte)(length % 251));
                    byte[]? old = Interlocked.Exchange(ref slots[slot], fresh);
                    if (old is not null)
                        Heap.Delete(old);
                    continue;
                }
                byte[]? array = Volatile.Read(ref slots[slot]);
                if (array is null)
                    continue;
                try
                {
                    if (random.Next(4) == 0)
                    {
                        var handle = GCHandle.Alloc(array, GCHandleType.Pinned);
                        Check((byte*)handle.AddrOfPinnedObject(), array.Length, random.Next(100));
                        handle.Free();
                    }
                    else
                    {
                        fixed (byte* pointer = array)
                            Check(pointer, array.Length, random.Next(100));
                    }
                    Interlocked.Increment(ref pins);
                }
                catch (DanglingReferenceException)
                {
                    Interlocked.Increment(ref refused);
                }
            }
        }

        void Check(byte* pointer, int length, int spins)
        {
            byte expected = (byte)(length % 251);
            for (int pass = 0; pass < 2; pass++)
            {
                for (int i = 0; i < length; i++)
                {
                    if (pointer[i] != expected)
                        failure = $"byte {i} of {length} is {pointer[i]} and not {expected}, in pass {pass}";
                }
                Thread.SpinWait(spins);
            }
        }

        Thread[] threads = [.. Enumerable.Range(0, 6).Select(seed => new Thread(() => Work(seed)))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        if (failure is not null)
            throw new ContractException(failure);
        Console.WriteLine($"{pins} pins, {refused} refused");
        Expect.True(pins > 0);
    }
}
