namespace Freehold.Benchmarks;

/// <summary>Looks at the resident memory twenty times a second, on a thread of its own, without garbage.</summary>
internal sealed class ResidentSampler
{
    private const int Milliseconds = 50;

    private readonly long[] _samples = new long[1 << 16];
    private readonly Thread _thread;
    private volatile int _count;
    private volatile bool _stop;

    public ResidentSampler()
    {
        _thread = new Thread(Run) { IsBackground = true };
        _thread.Start();
    }

    /// <summary>Ends it. The steady state: the mean of the second half of the samples.</summary>
    public double Stop()
    {
        _stop = true;
        _thread.Join();
        double sum = 0;
        for (var i = _count / 2; i < _count; i++)
        {
            sum += _samples[i];
        }

        return sum / (_count - (_count / 2));
    }

    /// <summary>Writes a line for each sample: 'memory', seconds since the start, MB.</summary>
    public void Write(TextWriter writer)
    {
        for (var i = 0; i < _count; i++)
        {
            writer.Write(string.Create(System.Globalization.CultureInfo.InvariantCulture, $"memory {i * Milliseconds / 1e3:0.##} {_samples[i] / 1e6:0.#}\n"));
        }
    }

    private void Run()
    {
        // The counters of statm lag by some pages; smaps_rollup is exact, but walks all page tables and holds up those who map.
        using var file = File.OpenHandle("/proc/self/statm");
        Span<byte> buffer = stackalloc byte[256];
        while (!_stop && _count < _samples.Length)
        {
            var text = buffer[..RandomAccess.Read(file, buffer, 0)];
            text = text[(text.IndexOf((byte)' ') + 1)..];
            long pages = 0;
            foreach (var b in text[..text.IndexOf((byte)' ')])
            {
                pages = (pages * 10) + (b - '0');
            }

            _samples[_count] = pages * Environment.SystemPageSize;
            _count++;
            Thread.Sleep(Milliseconds);
        }
    }
}
