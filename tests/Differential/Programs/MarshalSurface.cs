using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Security;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>The functions of <see cref="Marshal"/> and <see cref="NativeMemory"/>: texts, structures, copies in both directions, blocks that grow.</summary>
internal static unsafe partial class MarshalSurface
{
    [StructLayout(LayoutKind.Sequential)]
    internal struct Inner
    {
        public int Number;
        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 4)]
        public short[] Items;
    }

    [StructLayout(LayoutKind.Sequential, CharSet = CharSet.Ansi)]
    internal struct Record
    {
        public byte Kind;
        [MarshalAs(UnmanagedType.LPStr)]
        public string Name;
        [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 12)]
        public string Short;
        public Inner Inner;
        [MarshalAs(UnmanagedType.Bool)]
        public bool Flag;
        public double Real;
    }

    [StructLayout(LayoutKind.Sequential)]
    internal sealed class Layout
    {
        public long A;
        public int B;
    }

    public static void Run()
    {
        Texts();
        Structures();
        Copies();
        Blocks();
        Pins();
        Errors();
    }

    private static void Texts()
    {
        var sum = new Checksum();
        for (int i = 0; i < 200; i++)
        {
            string text = "tëxt € " + new string('z', 1 + (i % 30));
            nint ansi = Marshal.StringToHGlobalAnsi(text), wide = Marshal.StringToHGlobalUni(text), utf8 = Marshal.StringToCoTaskMemUTF8(text), bstr = Marshal.StringToBSTR(text);
            sum.Add(Marshal.PtrToStringAnsi(ansi)!);
            sum.Add(Marshal.PtrToStringUni(wide)! + Marshal.PtrToStringUni(wide, 3));
            sum.Add(Marshal.PtrToStringUTF8(utf8)!);
            sum.Add(Marshal.PtrToStringBSTR(bstr));
            Marshal.FreeHGlobal(ansi);
            Marshal.FreeHGlobal(wide);
            Marshal.ZeroFreeCoTaskMemUTF8(utf8);
            Marshal.FreeBSTR(bstr);
            Manual.Delete(text);
        }
        Console.WriteLine(sum);
        using var secret = new SecureString();
        foreach (char character in "secret")
            secret.AppendChar(character);
        nint open = Marshal.SecureStringToGlobalAllocUnicode(secret);
        Console.WriteLine(Marshal.PtrToStringUni(open));
        Marshal.ZeroFreeGlobalAllocUnicode(open);
    }

    private static void Structures()
    {
        Console.WriteLine($"{Marshal.SizeOf<Record>()} {Marshal.SizeOf<Inner>()} {Marshal.OffsetOf<Record>(nameof(Record.Inner))} {Marshal.OffsetOf<Record>(nameof(Record.Real))} {Marshal.SizeOf<Layout>()}");
        nint memory = Marshal.AllocHGlobal(Marshal.SizeOf<Record>());
        var sum = new Checksum();
        for (int i = 0; i < 300; i++)
        {
            var record = new Record { Kind = (byte)i, Name = "name " + i, Short = "short" + (i % 10), Inner = new Inner { Number = i, Items = [1, 2, (short)i, 4] }, Flag = i % 2 == 0, Real = i / 3.0 };
            Marshal.StructureToPtr(record, memory, i != 0);
            Record back = Marshal.PtrToStructure<Record>(memory);
            sum.Add(back.Name + back.Short + back.Flag);
            sum.Add(back.Inner.Items[2] + back.Inner.Number + back.Kind);
            sum.Add(back.Real);
            Manual.Delete(back.Inner.Items);
        }
        Marshal.DestroyStructure<Record>(memory);
        Marshal.FreeHGlobal(memory);
        var layout = new Layout();
        long[] source = [77, 5];
        fixed (long* pointer = source)
            Marshal.PtrToStructure((nint)pointer, layout);
        Console.WriteLine(sum + " " + layout.A + " " + layout.B);
    }

    private static void Copies()
    {
        nint memory = Marshal.AllocCoTaskMem(80_000);
        var sum = new Checksum();
        for (int i = 1; i < 60; i++)
        {
            int length = i * 90;
            double[] doubles = [.. Enumerable.Range(0, length).Select(n => n * 0.5)];
            char[] characters = [.. Enumerable.Range(0, length).Select(n => (char)n)];
            var longs = new long[length];
            Marshal.Copy(doubles, 0, memory, length);
            Marshal.Copy(memory, longs, 1, length - 1);
            sum.Add(longs[length / 2]);
            Marshal.Copy(characters, length / 2, memory, length / 2);
            var back = new char[length];
            Marshal.Copy(memory, back, 0, length / 2);
            sum.Add(new string(back));
            Marshal.WriteInt64(memory, 16, long.MinValue + i);
            Marshal.WriteByte(memory, 23, 0);
            Marshal.WriteInt16(memory, 1, 'x');
            sum.Add(Marshal.ReadInt64(memory, 16) + Marshal.ReadInt32(memory, 16) + Marshal.ReadInt16(memory, 1) + Marshal.ReadByte(memory + 2) + Marshal.ReadIntPtr(memory));
            Manual.Delete(doubles);
            Manual.Delete(characters);
            Manual.Delete(longs);
        }
        Marshal.FreeCoTaskMem(memory);
        Console.WriteLine(sum);
    }

    private static void Blocks()
    {
        var sum = new Checksum();
        byte* grown = null;
        for (nuint size = 1; size < 200_000; size *= 3)
        {
            grown = (byte*)NativeMemory.Realloc(grown, size);
            new Span<byte>(grown, (int)size).Fill((byte)size);
            sum.Add(grown[size - 1]);
            void* aligned = NativeMemory.AlignedAlloc(size, 256);
            sum.Add((nint)aligned % 256);
            NativeMemory.Copy(grown, aligned, size);
            NativeMemory.Clear(aligned, size / 2);
            sum.Add(new ReadOnlySpan<byte>(aligned, (int)size));
            NativeMemory.AlignedFree(aligned);
            byte[] managed = new byte[size];
            fixed (byte* pointer = managed)
            {
                NativeMemory.Copy(grown, pointer, size);
                NativeMemory.Fill(pointer, size / 3, 9);
            }
            sum.Add(managed);
            Manual.Delete(managed);
        }
        NativeMemory.Free(grown);
        int* zeroed = (int*)NativeMemory.AllocZeroed(1_000, 4);
        Console.WriteLine(sum + " " + new ReadOnlySpan<int>(zeroed, 1_000).IndexOfAnyExcept(0));
        NativeMemory.Free(zeroed);
        nint block = Marshal.AllocHGlobal(10);
        Marshal.WriteInt32(block, 42);
        block = Marshal.ReAllocHGlobal(block, 100_000);
        Console.WriteLine(Marshal.ReadInt32(block));
        Marshal.FreeHGlobal(block);
    }

    private static void Pins()
    {
        var sum = new Checksum();
        for (int i = 1; i < 400; i++)
        {
            int[] array = [.. Enumerable.Range(0, i)];
            GCHandle handle = GCHandle.Alloc(array, GCHandleType.Pinned);
            nint element = Marshal.UnsafeAddrOfPinnedArrayElement(array, i / 2);
            Manual.Delete(new byte[3_000]);
            sum.Add(Marshal.ReadInt32(element) + (handle.AddrOfPinnedObject() + (i / 2 * 4) == element ? 1 : 0));
            ref byte data = ref MemoryMarshal.GetArrayDataReference((Array)array);
            sum.Add(Unsafe.ReadUnaligned<int>(ref Unsafe.Add(ref data, (i - 1) * 4)));
            handle.Free();
            Manual.Delete(array);
        }
        Console.WriteLine(sum);
    }

    private static void Errors()
    {
        void Throws(Action action)
        {
            try
            {
                action();
                Console.WriteLine("nothing");
            }
            catch (Exception exception)
            {
                Console.WriteLine(exception.GetType().Name);
            }
        }
        Throws(() => GCHandle.Alloc(new object[] { "a" }, GCHandleType.Pinned));
        Throws(() => Marshal.Copy((byte[])null!, 0, 0, 0));
        Throws(() => Marshal.Copy(new byte[2], 1, 0, 5));
        Throws(() => Marshal.PtrToStructure<Record>(0));
        Throws(() => Marshal.ThrowExceptionForHR(unchecked((int)0x80070057)));
        Throws(() => NativeLibrary.Load("no-such-library-at-all"));
        Throws(() => NativeLibrary.GetExport(NativeLibrary.GetMainProgramHandle(), "no_such_symbol_at_all"));
        Throws(() => Marshal.GetDelegateForFunctionPointer<Action>(0));
        Throws(() => Marshal.GetFunctionPointerForDelegate((Delegate)null!));
        Console.WriteLine(Marshal.GetHRForException(new ArgumentException("x")).ToString("x8") + " " + Marshal.GetExceptionForHR(unchecked((int)0x80004003))!.GetType().Name);
        fixed (byte* text = "static\0"u8)
            Console.WriteLine(Encoding.UTF8.GetString(MemoryMarshal.CreateReadOnlySpanFromNullTerminated(text)));
    }
}
