using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

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

    // Only reflection calls it.
    [DllImport("libc", EntryPoint = "pread")]
    private static extern nint Read(int file, ref Pair target, nuint length, nint offset);

    [Obsolete("a text"), DllImport("libc", EntryPoint = "read")]
    private static extern nint ReadMarked(int file, byte[] target, nuint length);

    [DllImport("libc", EntryPoint = "read")]
    private static extern nint Read(int file, byte[] target, nuint length);
#pragma warning restore SYSLIB1054

    private static readonly System.Reflection.MethodInfo s_import =
        typeof(Moving).GetMethod(nameof(Read), System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static, [typeof(int), typeof(byte[]), typeof(nuint), typeof(nint)])!;
    private static readonly System.Reflection.MethodInfo s_importOfLaid =
        typeof(Moving).GetMethod(nameof(Read), System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static, [typeof(int), typeof(Laid), typeof(nuint), typeof(nint)])!;
    private static readonly System.Reflection.MethodInfo s_importOfReference =
        typeof(Moving).GetMethod(nameof(Read), System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static, [typeof(int), typeof(Pair).MakeByRefType(), typeof(nuint), typeof(nint)])!;
    private static readonly Func<int, byte[], nuint, nint, nint> s_createdGeneric = s_import.CreateDelegate<Func<int, byte[], nuint, nint, nint>>();
    private static readonly ReadLaid s_createdOfLaid = s_importOfLaid.CreateDelegate<ReadLaid>();
    private static readonly ReadArray s_delegate = Read;
    private static readonly Func<int, byte[], nuint, nint, nint> s_function = Read;
    private static readonly ReadArray s_created = s_import.CreateDelegate<ReadArray>();

    // Made at the first use: other cases have nothing to do with them.
    private static class Native
    {
        private static readonly nint s_libc = NativeLibrary.Load("libc.so.6");
        private static readonly SafeFileHandle s_program = File.OpenHandle(Environment.ProcessPath!);
        private static readonly int[] s_ends = Pinning.Pipe();

        public static readonly nint Function = NativeLibrary.GetExport(s_libc, "pread");
        public static readonly ReadArray Array = Of<ReadArray>("pread");
        public static readonly ReadReference Reference = Of<ReadReference>("pread");
        public static readonly ReadOut Out = Of<ReadOut>("pread");
        public static readonly ReadLaid Laid = Of<ReadLaid>("pread");
        public static readonly WriteText Text = Of<WriteText>("write");
        public static readonly WriteMarkedText MarkedText = Of<WriteMarkedText>("write");

        public static int Source => (int)s_program.DangerousGetHandle();

        public static int ReadEnd => s_ends[0];

        public static int WriteEnd => s_ends[1];

        private static T Of<T>(string name) => Marshal.GetDelegateForFunctionPointer<T>(NativeLibrary.GetExport(s_libc, name));
    }

    private static IEnumerable<Case> Arguments()
    {
        yield return Argument("import-array", () => new byte[Length], a => (Read(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("import-layout", () => new Laid(), l => (Read(Native.Source, l, 16, 0), l.First, l.Second));
        yield return Argument("function-reference", () => new byte[Length], a => (ReadByFunction(Native.Function, Native.Source, ref a[9], Length - 9), a.Sum(x => x)));
        yield return Argument("delegate-array", () => new byte[Length], a => (Native.Array(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("import-reflected", () => new byte[Length], a => (s_import.Invoke(null, [Native.Source, a, (nuint)Length, (nint)0]), a.Sum(x => x)));
        yield return Argument("import-delegate", () => new byte[Length], a => (s_delegate(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("import-created", () => new byte[Length], a => (s_created(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("delegate-created", () => new byte[Length], a => (Created(Native.Array)(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("import-function", () => new byte[Length], a => (s_function(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("import-handle", () => new byte[Length], a => (ReadByPointer(s_import, a), a.Sum(x => x)));
        yield return Argument("import-handle-layout", () => new Laid(), l => (ReadByPointer(s_importOfLaid, l), l.First, l.Second));
        yield return Argument("import-handle-reference", () => new Pair[20], p => (ReadByPointer(s_importOfReference, ref p[3]), p[2].Second, p[3].First, p[3].Second, p[4].First));
        yield return Argument("import-created-generic", () => new byte[Length], a => (s_createdGeneric(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("import-created-layout", () => new Laid(), l => (s_createdOfLaid(Native.Source, l, 16, 0), l.First, l.Second));
        yield return Argument("import-pointer-of-delegate", () => new byte[Length], a => (Again(s_delegate)(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return new("moving-argument-attributes-hidden", _ => AttributesAreHidden());
        yield return new("moving-argument-delegates-equal", _ => DelegatesAreEqual());
        yield return Argument("delegate-of-delegate", () => new byte[Length], a => (new ReadArray(Native.Array)(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("delegate-multicast", () => new byte[Length], a => ((Native.Array + Native.Array)(Native.Source, a, Length, 0), a.Sum(x => x)));
        yield return Argument("delegate-dynamic", () => new byte[Length], a => (Native.Array.DynamicInvoke(Native.Source, a, (nuint)Length, (nint)0), a.Sum(x => x)));
        yield return Argument("delegate-import-dynamic", () => new byte[Length], a => (s_delegate.DynamicInvoke(Native.Source, a, (nuint)Length, (nint)0), a.Sum(x => x)));
        yield return Argument("delegate-reference", () => new Pair[20], p => (Native.Reference(Native.Source, ref p[3], 8, 0), p[2].Second, p[3].First, p[3].Second, p[4].First));
        yield return Argument("delegate-out", () => new long[20], a => (Native.Out(Native.Source, out a[19], 8, 0), a[18], a[19]));
        yield return Argument("delegate-layout", () => new Laid(), l => (Native.Laid(Native.Source, l, 16, 0), l.First, l.Second));
        yield return Argument("delegate-text", () => new string('x', Length), s => Received(Native.Text(Native.WriteEnd, s, 2 * Length)));
        yield return Argument("delegate-marked-text", () => new string('x', Length), s => Received(Native.MarkedText(Native.WriteEnd, s, 2 * Length)));
    }

    private static nint ReadByPointer(System.Reflection.MethodInfo method, byte[] target) =>
        ((delegate*<int, byte[], nuint, nint, nint>)method.MethodHandle.GetFunctionPointer())(Native.Source, target, Length, 0);

    private static nint ReadByPointer(System.Reflection.MethodInfo method, Laid target) =>
        ((delegate*<int, Laid, nuint, nint, nint>)method.MethodHandle.GetFunctionPointer())(Native.Source, target, 16, 0);

    private static nint ReadByPointer(System.Reflection.MethodInfo method, ref Pair target) =>
        ((delegate*<int, ref Pair, nuint, nint, nint>)method.MethodHandle.GetFunctionPointer())(Native.Source, ref target, 8, 0);

    // To a native function pointer and back.
    private static ReadArray Again(ReadArray imported) => Marshal.GetDelegateForFunctionPointer<ReadArray>(Marshal.GetFunctionPointerForDelegate(imported));

    // Reflection finds the methods that pin by an attribute, which no list has.
    [System.Diagnostics.CodeAnalysis.UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "What is there is looked at.")]
    private static void AttributesAreHidden()
    {
        System.Reflection.MethodInfo marked = typeof(Moving).GetMethod(nameof(ReadMarked), System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Static)!;
        Expect.True(marked.MethodHandle.GetFunctionPointer() != 0);
        Expect.Equal("System.ObsoleteAttribute", string.Join(' ', marked.CustomAttributes.Where(data => data.AttributeType.Namespace == "System").Select(data => data.AttributeType.FullName)));
        foreach (string name in marked.GetCustomAttributes(false).Concat(s_import.GetCustomAttributes(true)).Concat(Attribute.GetCustomAttributes(s_import)).Select(attribute => attribute.GetType().FullName!)
            .Concat(s_import.CustomAttributes.Concat(s_import.GetCustomAttributesData()).Select(data => data.AttributeType.FullName!))
            .Concat(typeof(Moving).Assembly.GetTypes().Select(type => type.FullName!)))
            Expect.True(!name.Contains("Freehold>", StringComparison.Ordinal) && !name.Contains("FreeholdPins", StringComparison.Ordinal), name);
        Expect.Equal(System.Reflection.MethodAttributes.PinvokeImpl, s_import.Attributes & System.Reflection.MethodAttributes.PinvokeImpl);
    }

    // Of the Invoke of another one, by reflection.
    private static ReadArray Created(ReadArray other) => typeof(ReadArray).GetMethod("Invoke")!.CreateDelegate<ReadArray>(other);

    // Whether calls of a delegate pin is no difference between two.
    private static void DelegatesAreEqual()
    {
        ReadArray created = Created(Native.Array);
        Expect.True(s_delegate == s_created && s_delegate.GetHashCode() == s_created.GetHashCode());
        Expect.Equal(1, (s_delegate + s_created - s_delegate)!.GetInvocationList().Length);
        Expect.True(new ReadArray(Native.Array.Invoke) == created);
        Expect.True(s_delegate != Native.Array && s_delegate != created);
        Expect.True(s_function == s_createdGeneric && s_function.GetHashCode() == s_createdGeneric.GetHashCode());
    }

    private static int Received(nint written)
    {
        var bytes = new byte[2 * Length];
        return written == bytes.Length && Read(Native.ReadEnd, bytes, (nuint)bytes.Length) == written ? bytes.Sum(x => x) : -1;
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
