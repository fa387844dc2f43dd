using System.Diagnostics.CodeAnalysis;
using System.Diagnostics.Tracing;
using System.IO.MemoryMappedFiles;
using System.Reflection;
using System.Runtime.InteropServices;
using Microsoft.Win32.SafeHandles;

namespace Freehold.Differential.Programs;

/// <summary>Structs with texts and arrays in native memory, safe handles as arguments, mapped files, events with a listener, function pointers and delegates that reflection makes of native methods.</summary>
internal static unsafe class MarshalledStructs
{
    private const int Rounds = 300;

    public static void Run()
    {
        ToNativeMemory();
        Handles();
        MappedFiles();
        Events();
        ByReflection();
    }

    [StructLayout(LayoutKind.Sequential, CharSet = CharSet.Unicode)]
    private struct Entry
    {
        public int Number;

        [MarshalAs(UnmanagedType.LPWStr)]
        public string? Name;

        [MarshalAs(UnmanagedType.ByValArray, SizeConst = 4)]
        public int[]? Values;

        [MarshalAs(UnmanagedType.ByValTStr, SizeConst = 12)]
        public string? Short;
    }

    private static void ToNativeMemory()
    {
        int size = Marshal.SizeOf<Entry>();
        nint memory = Marshal.AllocHGlobal(size * Rounds);
        for (int i = 0; i < Rounds; i++)
            Marshal.StructureToPtr(new Entry { Number = i, Name = new string('n', i % 40), Values = [i, i + 1, i + 2, i + 3], Short = $"s{i}" }, memory + (i * size), false);
        long sum = 0;
        for (int i = 0; i < Rounds; i++)
        {
            Entry entry = Marshal.PtrToStructure<Entry>(memory + (i * size));
            sum = (sum * 31) + entry.Number + entry.Name!.Length + entry.Values!.Sum() + entry.Short!.Length;
            Marshal.DestroyStructure<Entry>(memory + (i * size));
        }
        Marshal.FreeHGlobal(memory);
        Console.WriteLine($"{size} {sum}");
    }

#pragma warning disable SYSLIB1054 // what the compiler itself marshals is the point
    [DllImport("libc", SetLastError = true)]
    private static extern nint pread(SafeFileHandle file, byte[] target, nint length, nint offset);

    [DllImport("libc")]
    private static extern nuint strnlen(ref byte text, nuint most);

    [DllImport("libc")]
    private static extern int memcmp(byte[] left, byte[] right, nuint length);
#pragma warning restore SYSLIB1054

    private static void Handles()
    {
        string path = Path.GetTempFileName();
        File.WriteAllBytes(path, [.. Enumerable.Range(0, 10_000).Select(i => (byte)i)]);
        long sum = 0;
        for (int i = 0; i < Rounds; i++)
        {
            using SafeFileHandle file = File.OpenHandle(path);
            byte[] target = new byte[64 + i];
            sum += pread(file, target, target.Length, i) + target.Sum(x => x);
        }
        SafeFileHandle closed = File.OpenHandle(path);
        closed.Dispose();
        try
        {
            pread(closed, new byte[1], 1, 0);
        }
        catch (ObjectDisposedException exception)
        {
            Console.WriteLine(exception.GetType().Name);
        }
        File.Delete(path);
        Console.WriteLine(sum);
    }

    private static void MappedFiles()
    {
        using MemoryMappedFile file = MemoryMappedFile.CreateNew(null, 1 << 20);
        using (MemoryMappedViewAccessor view = file.CreateViewAccessor())
        {
            for (int i = 0; i < Rounds; i++)
            {
                view.Write(i * 8, (long)i * i);
                view.WriteArray(4096 + (i * 16), new[] { i, -i, i, -i }, 0, 4);
            }
        }
        using MemoryMappedViewStream stream = file.CreateViewStream();
        byte[] all = new byte[20_000];
        stream.ReadExactly(all);
        Console.WriteLine($"{MemoryMarshal.Cast<byte, long>(all)[Rounds - 1]} {all.Sum(x => x)}");
    }

    [EventSource(Name = "Freehold-Differential")]
    private sealed class Source : EventSource
    {
        public static readonly Source Log = new();

        [Event(1, Level = EventLevel.Informational)]
        public void Happened(string what, int number, long[]? more = null) => WriteEvent(1, what, number, more?.Length ?? 0);
    }

    private sealed class Listener : EventListener
    {
        public int Count;
        public long Sum;

        protected override void OnEventSourceCreated(EventSource source)
        {
            if (source.Name == "Freehold-Differential")
                EnableEvents(source, EventLevel.Verbose);
        }

        protected override void OnEventWritten(EventWrittenEventArgs written)
        {
            Count++;
            Sum += written.Payload!.Sum(item => item is string text ? text.Length : Convert.ToInt64(item));
        }
    }

    private static void Events()
    {
        using var listener = new Listener();
        for (int i = 0; i < Rounds; i++)
            Source.Log.Happened(new string('e', i % 30), i, i % 2 == 0 ? null : new long[i]);
        Console.WriteLine($"{Source.Log.IsEnabled()} {listener.Count} {listener.Sum}");
    }

    private delegate nuint Measure(ref byte text, nuint most);

    [UnconditionalSuppressMessage("Trimming", "IL2026", Justification = "What is there is looked at.")]
    private static void ByReflection()
    {
        const BindingFlags All = BindingFlags.NonPublic | BindingFlags.Static;
        MethodInfo compare = typeof(MarshalledStructs).GetMethod(nameof(memcmp), All)!, measure = typeof(MarshalledStructs).GetMethod(nameof(strnlen), All)!;
        var compareByPointer = (delegate*<byte[], byte[], nuint, int>)compare.MethodHandle.GetFunctionPointer();
        var measureByPointer = (delegate*<ref byte, nuint, nuint>)measure.MethodHandle.GetFunctionPointer();
        var compareByDelegate = compare.CreateDelegate<Func<byte[], byte[], nuint, int>>();
        var measureByDelegate = measure.CreateDelegate<Measure>();
        long sum = 0;
        for (int i = 1; i < Rounds; i++)
        {
            byte[] left = [.. Enumerable.Repeat((byte)7, i), 0], right = [.. left];
            right[i / 2] += (byte)(i % 3);
            sum += Math.Sign(compareByPointer(left, right, (nuint)i)) + (2 * Math.Sign(compareByDelegate(right, left, (nuint)i))) + Math.Sign((int)compare.Invoke(null, [left, right, (nuint)i])!);
            sum += (long)measureByPointer(ref left[0], 1_000) + (long)measureByDelegate(ref left[i / 2], 1_000);
        }
        Console.WriteLine($"{sum} {compare.Attributes} {compare.GetCustomAttributes(false).Length} {compare.CustomAttributes.Count()} {compare.MethodHandle.GetFunctionPointer() == compare.MethodHandle.GetFunctionPointer()}");
        Console.WriteLine(string.Join(' ', typeof(MarshalledStructs).Assembly.GetTypes().Where(type => type.FullName!.StartsWith("<Freehold>", StringComparison.Ordinal)).Select(type => type.FullName)));
    }
}
