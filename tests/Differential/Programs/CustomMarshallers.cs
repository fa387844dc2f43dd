using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.InteropServices.Marshalling;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Source-generated native calls: marshallers with and without state, of collections, pinning ones, with errors and safe handles.</summary>
internal static unsafe partial class CustomMarshallers
{
    /// <summary>A pair of texts that native code sees as two pointers.</summary>
    [NativeMarshalling(typeof(PairMarshaller))]
    internal sealed record Pair(string Left, string Right);

    internal struct NativePair
    {
        public byte* Left, Right;
    }

    [CustomMarshaller(typeof(Pair), MarshalMode.ManagedToUnmanagedIn, typeof(PairMarshaller))]
    internal static class PairMarshaller
    {
        public static NativePair ConvertToUnmanaged(Pair pair) => new() { Left = Utf8StringMarshaller.ConvertToUnmanaged(pair.Left), Right = Utf8StringMarshaller.ConvertToUnmanaged(pair.Right) };

        public static void Free(NativePair pair)
        {
            Utf8StringMarshaller.Free(pair.Left);
            Utf8StringMarshaller.Free(pair.Right);
        }
    }

    /// <summary>Text that is pinned where it lies: nothing is copied.</summary>
    [CustomMarshaller(typeof(byte[]), MarshalMode.ManagedToUnmanagedIn, typeof(Pinning))]
    internal static class Pinning
    {
        public static ref byte GetPinnableReference(byte[]? managed) => ref managed is null or [] ? ref Unsafe.NullRef<byte>() : ref managed[0];

        public static byte* ConvertToUnmanaged(byte[]? managed) => throw new NotSupportedException("it is pinned");
    }

    /// <summary>One with state and a buffer of the caller's.</summary>
    [CustomMarshaller(typeof(string), MarshalMode.ManagedToUnmanagedIn, typeof(Upper))]
    internal ref struct Upper
    {
        private byte* _allocated;
        private Span<byte> _buffer;

        public static int BufferSize => 16;

        public void FromManaged(string managed, Span<byte> buffer)
        {
            byte[] bytes = Encoding.ASCII.GetBytes(managed.ToUpperInvariant());
            if (bytes.Length >= buffer.Length)
            {
                _allocated = (byte*)NativeMemory.Alloc((nuint)bytes.Length + 1);
                buffer = new Span<byte>(_allocated, bytes.Length + 1);
            }
            bytes.CopyTo(buffer);
            buffer[bytes.Length] = 0;
            _buffer = buffer;
        }

        public readonly ref byte GetPinnableReference() => ref MemoryMarshal.GetReference(_buffer);

        // On the stack of the caller, or native: the pin is for the compiler.
        public readonly byte* ToUnmanaged()
        {
            fixed (byte* buffer = _buffer)
                return buffer;
        }

        public readonly void Free() => NativeMemory.Free(_allocated);
    }

    internal sealed class Block : SafeHandle
    {
        public Block() : base(0, true)
        {
        }

        public override bool IsInvalid => handle == 0;

        protected override bool ReleaseHandle()
        {
            s_freed++;
            Release(handle);
            return true;
        }
    }

    private static int s_freed;

    [LibraryImport("libc", EntryPoint = "memcmp")]
    private static partial int Compare([MarshalUsing(typeof(Pinning))] byte[] left, [MarshalUsing(typeof(Pinning))] byte[] right, nuint count);

    [LibraryImport("libc", EntryPoint = "strlen")]
    private static partial nuint Length([MarshalUsing(typeof(Upper))] string text);

    [LibraryImport("libc", EntryPoint = "atoi")]
    private static partial int Number([MarshalUsing(typeof(Upper))] string text);

    [LibraryImport("libc", EntryPoint = "strcasecmp", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int CompareTexts(string left, [MarshalUsing(typeof(Upper))] string right);

    [LibraryImport("libc", EntryPoint = "calloc")]
    private static partial Block Allocate(nuint count, nuint size);

    [LibraryImport("libc", EntryPoint = "free")]
    private static partial void Release(nint block);

    [LibraryImport("libc", EntryPoint = "memcpy")]
    private static partial nint Fill(Block target, [In] int[] source, nuint size);

    [LibraryImport("libc", EntryPoint = "memcpy")]
    private static partial nint Read([Out, MarshalUsing(CountElementName = nameof(count))] int[] target, Block source, nuint size, int count);

    [LibraryImport("libc", EntryPoint = "memcpy")]
    private static partial nint Copy(ref long target, in long source, nuint size);

    [LibraryImport("libc", EntryPoint = "open", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial int Open(string path, int flags);

    [LibraryImport("libc", EntryPoint = "getpid")]
    private static partial int PairOf(Pair pair);

    [LibraryImport("libc", EntryPoint = "memchr")]
    private static partial nint Find(ReadOnlySpan<byte> bytes, int value, nuint count);

    [LibraryImport("libc", EntryPoint = "qsort")]
    private static partial void Sort(Span<int> values, nuint count, nuint size, delegate* unmanaged<int*, int*, int> compare);

    [UnmanagedCallersOnly]
    private static int Order(int* left, int* right)
    {
        Manual.Delete(new byte[100]);
        return left->CompareTo(*right);
    }

    public static void Run()
    {
        var sum = new Checksum();
        for (int i = 0; i < 500; i++)
        {
            string text = new((char)('a' + (i % 26)), i % 40);
            sum.Add((long)Length(text));
            sum.Add(Number(i.ToString()));
            sum.Add(CompareTexts(text, text));
            byte[] left = Encoding.UTF8.GetBytes(text), right = [.. left];
            sum.Add(left.Length == 0 ? 0 : Compare(left, right, (nuint)left.Length));
            sum.Add(PairOf(new Pair(text, "right")) == Environment.ProcessId ? 1 : 0);
            if (left.Length != 0)
                Manual.Delete(left); // the empty array is everybody's
        }
        Console.WriteLine(sum);
        for (int i = 1; i <= 100; i++)
        {
            using Block block = Allocate((nuint)i, 4);
            int[] source = [.. Enumerable.Range(i, i)], target = new int[i];
            Fill(block, source, (nuint)(4 * i));
            Read(target, block, (nuint)(4 * i), i);
            sum.Add(target.SequenceEqual(source) ? 1 : 0);
        }
        Console.WriteLine(sum + " " + s_freed);
        long[] longs = [1, 2, 3];
        Copy(ref longs[0], in longs[2], 8);
        Console.WriteLine(string.Join(' ', longs));
        Console.WriteLine(Open("/definitely/not/there", 0) + " " + Marshal.GetLastPInvokeError() + " " + Marshal.GetLastPInvokeErrorMessage());
        byte[] bytes = [.. Enumerable.Range(0, 200).Select(i => (byte)i)];
        fixed (byte* pointer = bytes)
            Console.WriteLine(Find(bytes, 77, 200) - (nint)pointer);
        int[] values = [.. Enumerable.Range(0, 3_000).Select(i => (i * 7919) % 3_001)];
        Sort(values, (nuint)values.Length, 4, &Order);
        Console.WriteLine(values.SequenceEqual(values.Order()));
        Parallel.For(0, 8, thread =>
        {
            for (int i = 0; i < 300; i++)
            {
                byte[] mine = new byte[50 + thread], same = new byte[50 + thread];
                mine[^1] = same[^1] = (byte)i;
                if (Compare(mine, same, (nuint)mine.Length) != 0 || Length("thread " + i) != (nuint)("thread " + i).Length)
                    throw new InvalidOperationException("differs");
                Manual.Delete(mine);
            }
        });
        Console.WriteLine("threads");
    }
}
