using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Arguments of native calls that moved before: native code cannot be told of it, so it gets the address that the object has now.</summary>
internal static unsafe partial class Moving
{
    [StructLayout(LayoutKind.Sequential)]
    private sealed class Laid
    {
        public long First = 1, Second = 2;
    }

    private record struct Pair(int First, int Second);

    // pread(2) and write(2): the kernel repairs nothing.
    private delegate nint ReadArray(int file, byte[] target, nuint length, nint offset);

    private delegate nint ReadReference(int file, ref Pair target, nuint length, nint offset);

    private delegate nint ReadOut(int file, out long target, nuint length, nint offset);

    private delegate nint ReadLaid(int file, [In, Out] Laid target, nuint length, nint offset);

    [UnmanagedFunctionPointer(CallingConvention.Cdecl, CharSet = CharSet.Unicode)]
    private delegate nint WriteText(int file, string text, nuint length);

    private delegate nint WriteMarkedText(int file, [MarshalAs(UnmanagedType.LPWStr)] string text, nuint length);

#pragma warning disable SYSLIB1054 // what the compiler itself marshals is the point
    [DllImport("libc", EntryPoint = "pread")]
    private static extern nint Read(int file, byte[] target, nuint length, nint offset);

    [DllImport("libc", EntryPoint = "pread")]
    private static extern nint Read(int file, [In, Out] Laid target, nuint length, nint offset);

    [DllImport("libc", EntryPoint = "read")]
    private static extern nint Read(int file, byte[] target, nuint length);
#pragma warning restore SYSLIB1054

    private static IEnumerable<Case> Arguments()
    {
        nint libc = NativeLibrary.Load("libc.so.6"), pread = NativeLibrary.GetExport(libc, "pread"), write = NativeLibrary.GetExport(libc, "write");
        var file = File.OpenHandle(Environment.ProcessPath!);
        int source = (int)file.DangerousGetHandle();
        yield return Argument("import-array", () => new byte[Length], a => (Read(source, a, Length, 0), a.Sum(x => x), file.IsInvalid));
        yield return Argument("import-layout", () => new Laid(), l => (Read(source, l, 16, 0), l.First, l.Second));
        yield return Argument("function-reference", () => new byte[Length], a => (ReadByFunction(pread, source, ref a[9], Length - 9), a.Sum(x => x)));

        var array = Marshal.GetDelegateForFunctionPointer<ReadArray>(pread);
        var reference = Marshal.GetDelegateForFunctionPointer<ReadReference>(pread);
        var output = Marshal.GetDelegateForFunctionPointer<ReadOut>(pread);
        var laid = Marshal.GetDelegateForFunctionPointer<ReadLaid>(pread);
        yield return Argument("delegate-array", () => new byte[Length], a => (array(source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("delegate-reference", () => new Pair[20], p => (reference(source, ref p[3], 8, 0), p[2].Second, p[3].First, p[3].Second, p[4].First));
        yield return Argument("delegate-out", () => new long[20], a => (output(source, out a[19], 8, 0), a[18], a[19]));
        yield return Argument("delegate-layout", () => new Laid(), l => (laid(source, l, 16, 0), l.First, l.Second));

        var text = Marshal.GetDelegateForFunctionPointer<WriteText>(write);
        var marked = Marshal.GetDelegateForFunctionPointer<WriteMarkedText>(write);
        int[] ends = Pinning.Pipe();
        yield return Argument("delegate-text", () => new string('x', Length), s => (text(ends[1], s, 2 * Length), Received(ends[0], 2 * Length)));
        yield return Argument("delegate-marked-text", () => new string('x', Length), s => (marked(ends[1], s, 2 * Length), Received(ends[0], 2 * Length)));
    }

    private static int Received(int end, int length)
    {
        var bytes = new byte[length];
        return (int)Read(end, bytes, (nuint)length) == length ? bytes.Sum(x => x) : -1;
    }

    private static nint ReadByFunction(nint function, int file, ref byte target, nuint length) => ((delegate* unmanaged<int, ref byte, nuint, nint, nint>)function)(file, ref target, length, 0);

    private static Case Argument<T>(string name, Func<T> make, Func<T, object?> use)
        where T : class
    {
        return new("moving-argument-" + name, _ =>
        {
            nint[] stale = Promoted(_ => make());
            object? expected = use(make());
            foreach (nint address in stale)
                Expect.Equal(expected, Use(use, address));
        });
    }
}
