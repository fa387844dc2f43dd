namespace Freehold.Benchmarks;

/// <summary>How long the thread that made it was ready to run and did not, by Linux. So a busy machine can be told from the heap.</summary>
internal sealed class QueueTime : IDisposable
{
    private readonly Microsoft.Win32.SafeHandles.SafeFileHandle _file = File.OpenHandle("/proc/thread-self/schedstat");

    /// <summary>Nanoseconds since the thread began. A look costs two microseconds, and leaves no garbage.</summary>
    public long Nanoseconds
    {
        get
        {
            Span<byte> buffer = stackalloc byte[128];
            var text = buffer[..RandomAccess.Read(_file, buffer, 0)];
            text = text[(text.IndexOf((byte)' ') + 1)..];
            long number = 0;
            foreach (var b in text[..text.IndexOf((byte)' ')])
            {
                number = (number * 10) + (b - '0');
            }

            return number;
        }
    }

    public void Dispose() => _file.Dispose();
}
