using System.Runtime.InteropServices;

namespace DocumentIndex;

/// <summary>The few system calls that the measurements need, without garbage.</summary>
internal static unsafe partial class Linux
{
    public struct TimeSpec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    [DllImport("libc", EntryPoint = "nanosleep")]
    public static extern int Sleep(TimeSpec* duration, TimeSpec* remaining);

    [DllImport("libc", EntryPoint = "pread")]
    public static extern nint Read(int file, byte* buffer, nint length, long offset);

    [DllImport("libc", EntryPoint = "close")]
    public static extern int Close(int file);

    public static int Open(ReadOnlySpan<byte> path)
    {
        fixed (byte* text = path)
        {
            return Open(text, 0);
        }
    }

    /// <summary>A number of kilobytes in a file of /proc, by the label before it, as bytes; 0 when it is not there.</summary>
    public static long Kilobytes(ReadOnlySpan<byte> path, ReadOnlySpan<byte> label)
    {
        var buffer = stackalloc byte[4096];
        var file = Open(path);
        var length = (int)Read(file, buffer, 4096, 0);
        Close(file);
        var text = new ReadOnlySpan<byte>(buffer, Math.Max(length, 0));
        var start = text.IndexOf(label);
        return start < 0 ? 0 : ParseNumber(text[(start + label.Length)..]) * 1024;
    }

    public static long ParseNumber(ReadOnlySpan<byte> text)
    {
        long number = 0;
        foreach (var b in text.TrimStart(" \t"u8))
        {
            if (b is < (byte)'0' or > (byte)'9')
            {
                break;
            }

            number = (number * 10) + (b - '0');
        }

        return number;
    }

    [DllImport("libc", EntryPoint = "open")]
    private static extern int Open(byte* path, int flags);
}
