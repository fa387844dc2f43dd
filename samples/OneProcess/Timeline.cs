using System.Diagnostics;
using System.Globalization;

/// <summary>What each heap holds over time, and what the kernel says that the process takes (PSS).</summary>
internal sealed class Timeline : IDisposable
{
    private static readonly TimeSpan s_period = TimeSpan.FromMilliseconds(100);
    private readonly Stopwatch _clock = Stopwatch.StartNew();
    private readonly List<Sample> _samples = [];
    private readonly List<(double Seconds, string Text)> _seasons = [];
    private readonly ManualResetEventSlim _end = new();
    private readonly Thread _thread;

    public Timeline()
    {
        _thread = new Thread(() =>
        {
            do
            {
                Take();
            }
            while (!_end.Wait(s_period));
        });
        _thread.Start();
    }

    /// <summary>Valid after <see cref="Dispose"/>.</summary>
    public IReadOnlyList<Sample> Samples => _samples;

    public void Begin(string season)
    {
        lock (_seasons) _seasons.Add((_clock.Elapsed.TotalSeconds, season));
    }

    public void Dispose()
    {
        _end.Set();
        _thread.Join();
        Take();
    }

    /// <summary>The samples in columns: seconds, then MB.</summary>
    public void Write(string file) => File.WriteAllLines(
        file,
        ["seconds,managed,handles,malloc,pss", .. _samples.Select(one => string.Create(CultureInfo.InvariantCulture, $"{one.Seconds:f1},{one.Managed / 1e6:f1},{one.Handles / 1e6:f1},{one.Malloc / 1e6:f1},{one.Pss / 1e6:f1}"))]);

    public void Draw(string file, long limit) => File.WriteAllText(file, Plot.Draw(_samples, _seasons, limit));

    private static long ReadPss()
    {
        foreach (string line in File.ReadLines("/proc/self/smaps_rollup"))
        {
            if (line.StartsWith("Pss:", StringComparison.Ordinal))
                return long.Parse(line[4..^2], NumberStyles.AllowLeadingWhite | NumberStyles.AllowTrailingWhite, CultureInfo.InvariantCulture) << 10;
        }

        return 0;
    }

    private void Take()
    {
        HeapStatistics figures = Heap.GetStatistics();
        _samples.Add(new Sample(_clock.Elapsed.TotalSeconds, figures.ResidentBytes, figures.Handles.ResidentBytes, figures.Native.UsedBytes + figures.Native.CachedBytes, ReadPss()));
    }

    /// <summary>Bytes at one moment.</summary>
    internal sealed record Sample(double Seconds, long Managed, long Handles, long Malloc, long Pss);
}
