using System.Buffers;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using System.Text.Unicode;

namespace Freehold.Contract;

/// <summary>Raw pointers into pinned objects that moved before: all that are made from whatever name are the same, so that they can be subtracted.</summary>
internal static unsafe partial class Moving
{
    private const int Length = 300;

    private delegate object? SpanUse<T>(Span<T> span);

    private static IEnumerable<Case> Addresses()
    {
        yield return OfSpan<byte>("from-utf16", s => (Utf8.FromUtf16("text: \u00e4\u20ac", s[3..], out int read, out int written), read, written, Encoding.UTF8.GetString(s[3..(3 + written)])));
        yield return OfSpan<byte>("from-utf16-invalid", s => (Utf8.FromUtf16("a\ud800b\udc00c", s[1..], out int read, out int written), read, written));
        yield return OfSpan<char>("from-utf16-source", s => (Utf8.FromUtf16(s[5..], new byte[2 * Length], out int read, out int written), read, written));
        yield return OfSpan<byte>("to-utf16", s => (Utf8.ToUtf16(s[3..], new char[Length], out int read, out int written), read, written));
        yield return OfSpan<char>("to-utf16-target", s => (Utf8.ToUtf16("text: \u00e4\u20ac"u8, s[7..], out int read, out int written), read, written));
        yield return OfSpan<char>("to-utf16-invalid", s => (Utf8.ToUtf16([97, 0xff, 98, 0xc3], s, out int read, out int written), read, written));
        yield return OfSpan<byte>("encodings", s => (Encoding.UTF8.GetBytes("text \u00e4", s), Encoding.ASCII.GetBytes("text", s[9..]), Encoding.Latin1.GetBytes("text", s[20..]), Encoding.Unicode.GetBytes("text", s[40..]), Convert.ToHexString(s)));
        yield return OfSpan<byte>("formats", s => (1234.5.TryFormat(s, out int first), first, Guid.Empty.TryFormat(s[20..], out int second), second, Convert.ToHexString(s)));
        yield return OfSpan<byte>("base64", s => (System.Buffers.Text.Base64.EncodeToUtf8InPlace(s, 90, out int written), written, Convert.ToHexString(s)));
        yield return OfSpan<byte>("json", s => { var reader = new Utf8JsonReader(s); try { return reader.Read(); } catch (JsonException exception) { return exception.Message; } });
        yield return OfSpan<byte>("pointer", Pointer);
        yield return OfSpan<byte>("pointer-to-end", PointerToEnd);
        yield return OfSpan<byte>("pointer-advanced", PointerAdvanced);
        yield return OfArray("handle", AddressOfHandle);
        yield return OfArray("element", AddressOfElement);
        yield return new("moving-address-memory", _ => AddressOfMemory());
    }

    private static object Pointer(Span<byte> span)
    {
        fixed (byte* pinned = span)
            return ((nint)pinned - (nint)Unsafe.AsPointer(ref MemoryMarshal.GetReference(span)), (nint)Unsafe.AsPointer(ref span[9]) - (nint)pinned);
    }

    private static object PointerToEnd(Span<byte> span)
    {
        fixed (byte* pinned = span)
            return (byte*)Unsafe.AsPointer(ref Unsafe.Add(ref MemoryMarshal.GetReference(span), Length)) - pinned;
    }

    private static object PointerAdvanced(Span<byte> span)
    {
        fixed (byte* pinned = span)
        {
            byte* end = (byte*)Unsafe.AsPointer(ref MemoryMarshal.GetReference(span));
            Advance(&end);
            return end - pinned;
        }
    }

    private static object AddressOfHandle(byte[] array)
    {
        var handle = GCHandle.Alloc(array, GCHandleType.Pinned);
        nint address = handle.AddrOfPinnedObject();
        fixed (byte* pinned = array)
        {
            handle.Free();
            return (nint)pinned - address;
        }
    }

    private static object AddressOfElement(byte[] array)
    {
        fixed (byte* pinned = array)
            return (Marshal.UnsafeAddrOfPinnedArrayElement(array, 5) - (nint)pinned, Marshal.UnsafeAddrOfPinnedArrayElement((Array)array, 7) - (nint)pinned);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Advance(byte** pointer) => *pointer += 17;

    private static Case OfArray(string name, Func<byte[], object?> use) => OfAddress<byte>("address-" + name, address => use(Stale<byte[]>(address)));

    // The span has the old name, the array behind it is not used.
    private static Case OfSpan<T>(string name, SpanUse<T> use)
        where T : unmanaged => OfAddress<T>("address-" + name, address => use(MemoryMarshal.CreateSpan(ref *(T*)(address + 2 * sizeof(nint)), Length)));

    // Unlike others, these need not fault: pins and pointers find the object by themselves.
    private static Case OfAddress<T>(string name, Func<nint, object?> use)
        where T : unmanaged
    {
        return new("moving-" + name, _ =>
        {
            nint[] stale = Promoted(_ => Filled<T>());
            T[] stays = GC.AllocateArray<T>(Length, pinned: true);
            Filled<T>().CopyTo(stays, 0);
            object? expected = use(Unsafe.As<T[], nint>(ref stays));
            for (int k = 0; k < Victims; k++)
            {
                object? actual = use(stale[k]);
                Expect.True(Equals(expected, actual), $"object {k}: {actual} and not {expected}");
            }
            GC.KeepAlive(stays);
        });
    }

    private static T[] Filled<T>()
        where T : unmanaged
    {
        T[] array = new T[Length];
        MemoryMarshal.AsBytes(array.AsSpan()).Fill((byte)'x');
        return array;
    }

    // A memory holds an old name and is pinned.
    private static void AddressOfMemory()
    {
        nint[] stale = Promoted(_ => new byte[Length]);
        foreach (nint address in stale)
        {
            Memory<byte> memory = new byte[Length];
            Unsafe.As<Memory<byte>, nint>(ref memory) = address;
            using MemoryHandle handle = memory[3..].Pin(), again = ((ReadOnlyMemory<byte>)memory)[3..].Pin();
            Expect.Equal(freehold_current_address(address) + 2 * sizeof(nint) + 3, (nint)handle.Pointer);
            Expect.Equal((nint)handle.Pointer, (nint)again.Pointer);
        }
    }
}
