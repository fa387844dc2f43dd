using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Point 6: a pin of what is not the heap's reads nothing there. It may be reserved memory, a device's, or a number that native code takes as an offset.</summary>
internal static unsafe partial class ForeignMemory
{
    private const int NoAccess = 0, ReadAndWrite = 3, PrivateAnonymous = 0x22, Size = 1 << 20;

    // No address: Linux maps nothing there. Not a multiple of 4,096, as the start of a page is never read.
    private const nint Offset = 0x10FF0;

    private delegate void Managed(ref byte place, byte[] array);

    private delegate nint Native(in byte offset);

    public static IEnumerable<Case> All()
    {
        yield return new("pin-reserved", _ => Reserved());
        yield return new("pin-offset", _ => OffsetAsReference());
        yield return new("pin-delegate-ref", _ => ReferenceOfManagedDelegate());
    }

    [LibraryImport("libc")]
    private static partial byte* mmap(void* address, nint size, int protection, int flags, int file, nint offset);

    [LibraryImport("libc")]
    private static partial int munmap(byte* address, nint size);

    [LibraryImport("libc", EntryPoint = "mprotect")]
    private static partial int ProtectSpan(Span<byte> memory, nint size, int protection);

#pragma warning disable SYSLIB1054 // what the compiler itself marshals is the point
    [DllImport("libc", EntryPoint = "mprotect")]
    private static extern int ProtectReference(ref byte memory, nint size, int protection);

    [DllImport("libc", EntryPoint = "labs")]
    private static extern nint Absolute(in byte offset);
#pragma warning restore SYSLIB1054

    private static void Reserved()
    {
        byte* memory = mmap(null, Size, NoAccess, PrivateAnonymous, -1, 0);
        Span<byte> inside = new(memory + 8, 100);
        fixed (byte* pointer = inside)
            Expect.True(pointer == memory + 8);
        ref byte other = ref memory[4_097];
        fixed (byte* pointer = &other)
            Expect.True(pointer == memory + 4_097);
        Expect.Equal(0, ProtectReference(ref memory[12_288], 4_096, ReadAndWrite));
        memory[12_300] = 1;
        Expect.Equal(0, ProtectSpan(new Span<byte>(memory, Size), Size, ReadAndWrite));
        memory[8] = 2;
        Expect.Equal(2, inside[0]);
        Expect.Equal(0, munmap(memory, Size));
        fixed (byte* pointer = inside)
            Expect.True(pointer == memory + 8);
    }

    private static void OffsetAsReference()
    {
        ref byte offset = ref Unsafe.AsRef<byte>((void*)Offset);
        nint address = NativeLibrary.GetExport(NativeLibrary.Load("libc.so.6"), "labs");
        Expect.Equal(Offset, Absolute(in offset));
        Expect.Equal(Offset, ((delegate* unmanaged<ref byte, nint>)address)(ref offset));
        Expect.Equal(Offset, Marshal.GetDelegateForFunctionPointer<Native>(address)(in offset));
        fixed (byte* pointer = &offset)
            Expect.Equal(Offset, (nint)pointer);
        Expect.Equal(Offset, (nint)Unsafe.AsPointer(ref offset));
    }

    private static void ReferenceOfManagedDelegate()
    {
        nint seen = 0;
        Managed managed = (ref byte place, byte[] _) => seen = (nint)Unsafe.AsPointer(ref place);
        managed(ref Unsafe.AsRef<byte>((void*)Offset), [1]);
        Expect.Equal(Offset, seen);
    }
}
