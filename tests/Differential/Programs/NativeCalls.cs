using System.Runtime.InteropServices;
using System.Text;
using Microsoft.Win32.SafeHandles;

namespace Freehold.Differential.Programs;

/// <summary>P/Invoke into libc: numbers, strings, structs, buffers, errno, SafeHandle.</summary>
internal static partial class NativeCalls
{
    [StructLayout(LayoutKind.Sequential)]
    private struct Division
    {
        public long Quotient;
        public long Remainder;
    }

    [LibraryImport("libc", StringMarshalling = StringMarshalling.Utf8)]
    private static partial nuint strlen(string text);

    [LibraryImport("libc", StringMarshalling = StringMarshalling.Utf8)]
    private static partial int setenv(string name, string value, int overwrite);

    [LibraryImport("libc", StringMarshalling = StringMarshalling.Utf8)]
    private static partial nint getenv(string name);

    [DllImport("libc")]
    private static extern Division lldiv(long numerator, long denominator);

    [DllImport("libc", CharSet = CharSet.Ansi)]
    private static extern int sprintf_s(StringBuilder buffer, string format);

    [DllImport("libc", EntryPoint = "strtol")]
    private static extern long StringToLong([MarshalAs(UnmanagedType.LPUTF8Str)] string text, nint end, int numberBase);

    [LibraryImport("libc", SetLastError = true, StringMarshalling = StringMarshalling.Utf8)]
    private static partial SafeFileHandle open(string path, int flags);

    [LibraryImport("libc", SetLastError = true)]
    private static partial nint read(SafeFileHandle file, Span<byte> buffer, nuint count);

    [LibraryImport("libc")]
    private static partial int memcmp(ReadOnlySpan<int> left, ReadOnlySpan<int> right, nuint size);

    [DllImport("libc", SetLastError = true)]
    private static extern int gethostname([Out] byte[] name, nuint length);

    public static void Run()
    {
        ulong total = 0;
        for (int i = 0; i < 20_000; i++)
            total += strlen("gr\u00fc\u00dfe " + i);
        Console.WriteLine(total);
        Division division = lldiv(1_000_003, 97);
        Console.WriteLine(division.Quotient + " " + division.Remainder);
        Console.WriteLine(setenv("FREE_TEST_NATIVE", "w\u00e4rt", 1) + " " + Marshal.PtrToStringUTF8(getenv("FREE_TEST_NATIVE")));
        Console.WriteLine(StringToLong("7fff", 0, 16));
        using (SafeFileHandle missing = open("/definitely/missing", 0))
            Console.WriteLine(missing.IsInvalid + " " + Marshal.GetLastPInvokeError());
        using (SafeFileHandle zero = open("/dev/zero", 0))
        {
            byte[] buffer = new byte[100_000];
            Array.Fill(buffer, (byte)9);
            Console.WriteLine(read(zero, buffer.AsSpan(10, 90_000), 90_000) + " " + buffer.Sum(value => value));
        }
        int[] left = [.. Enumerable.Range(0, 10_000)];
        int[] right = [.. left];
        int same = memcmp(left, right, 40_000);
        right[9_999]++;
        Console.WriteLine(same + " " + Math.Sign(memcmp(left, right, 40_000)));
        byte[] name = new byte[256];
        Console.WriteLine(gethostname(name, 256) + " " + (Array.IndexOf(name, (byte)0) > 0));
        nint block = Marshal.AllocHGlobal(4_096);
        Marshal.Copy(left, 0, block, 1_000);
        int[] copy = new int[1_000];
        Marshal.Copy(block, copy, 0, 1_000);
        Marshal.FreeHGlobal(block);
        Console.WriteLine(copy.Sum());
        nint structure = Marshal.AllocHGlobal(Marshal.SizeOf<Division>());
        Marshal.StructureToPtr(division, structure, false);
        Console.WriteLine(Marshal.PtrToStructure<Division>(structure).Remainder);
        Marshal.FreeHGlobal(structure);
        try
        {
            sprintf_s(new StringBuilder(4), "x");
        }
        catch (EntryPointNotFoundException)
        {
            Console.WriteLine("no such entry point");
        }
    }
}
