using System.Diagnostics;
using System.Globalization;

namespace Freehold.Compare;

/// <summary>Looks at the resident memory of another process twenty times a second.</summary>
internal sealed class MemoryOf : IDisposable
{
    private readonly List<(double Seconds, double Megabytes)> _samples = [];
    private readonly Thread _thread;
    private readonly int _process;
    private volatile bool _stop;

    public MemoryOf(int process)
    {
        _process = process;
        _thread = new Thread(Run) { IsBackground = true };
        _thread.Start();
    }

    /// <summary>Bytes of a process, of shared pages its share. Walks its page tables, which holds it up when it maps.</summary>
    public static double Proportional(int process) =>
        File.ReadLines($"/proc/{process}/smaps_rollup").Where(line => line.StartsWith("Pss:", StringComparison.Ordinal)).Select(line => double.Parse(line[4..^2], CultureInfo.InvariantCulture) * 1024).First();

    public List<(double Seconds, double Value)> Stop()
    {
        _stop = true;
        _thread.Join();
        return _samples;
    }

    public void Dispose() => Stop();

    private void Run()
    {
        var start = Stopwatch.GetTimestamp();
        while (!_stop)
        {
            // Cheap for the process: its counters, which lag by some pages.
            var pages = double.Parse(File.ReadAllText($"/proc/{_process}/statm").Split(' ')[1], CultureInfo.InvariantCulture);
            _samples.Add((Stopwatch.GetElapsedTime(start).TotalSeconds, pages * Environment.SystemPageSize / 1e6));
            Thread.Sleep(50);
        }
    }
}
