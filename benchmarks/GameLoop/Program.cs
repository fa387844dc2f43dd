using System.Diagnostics;

namespace Freehold.Benchmarks.GameLoop;

internal static class Program
{
    private const string Help = """
        GameLoop [short|full] [--frames N] [--period US] [--actors N] [--shots N] [--levels N]
        A loop with a frame each so many microseconds: actors walk, projectiles fly, hit and end, what is seen is ordered; a second thread loads and unloads sectors of the world, trees of so many levels.
        The figure is the jitter: how long after its time a frame is done, and how many are done when the next one is due.
        """;

    public static int Main(string[] args)
    {
        var options = Arguments.Parse(
            "GameLoop", Help, args,
            new() { ["--frames"] = 15_000, ["--period"] = 4_000, ["--actors"] = 20_000, ["--shots"] = 100, ["--levels"] = 7 },
            new() { ["--frames"] = 750, ["--levels"] = 5 });
        if (options is null)
        {
            return 2;
        }

        var frames = (int)options["--frames"];
        var period = options["--period"] * Stopwatch.Frequency / 1_000_000;
        var done = new double[frames];
        var work = new double[frames];
        var withProcessor = new double[frames];
        using var world = new World((int)options["--actors"], (int)options["--shots"], (int)options["--levels"], frames);
        Report.Write("built_resident_bytes", ProcessMemory.Resident);
        var watch = new Watch();
        var progress = new Progress("GameLoop: frames", frames);
        using var queue = new QueueTime();
        var queued = queue.Nanoseconds;
        var firstQueued = queued;
        var start = Stopwatch.GetTimestamp();
        for (var i = 0; i < frames; i++)
        {
            var due = start + (i * period);
            WaitUntil(due);
            queued = queue.Nanoseconds;
            var begun = Stopwatch.GetTimestamp();
            world.Step(i);
            var end = Stopwatch.GetTimestamp();
            done[i] = Stopwatch.GetElapsedTime(due, end).TotalMicroseconds;
            work[i] = Stopwatch.GetElapsedTime(begun, end).TotalMicroseconds;
            withProcessor[i] = Math.Max(0, work[i] - ((queue.Nanoseconds - queued) / 1e3));
            progress.Tell(i);
        }

        var waited = queue.Nanoseconds - firstQueued;
        progress.End();
        watch.Stop();
        Report.Write("missed_frames", done.Count(microseconds => microseconds > options["--period"]));
        Report.Write("ns_per_operation", work.Average() * 1000);
        var median = work.Order().ElementAt(frames / 2);
        Report.Write("longest_stall_ms", (work.Max() - median) / 1000);
        Report.Write("longest_stall_with_processor_ms", Math.Max(0, withProcessor.Max() - median) / 1000);
        Report.Write("stalls", work.Count(microseconds => microseconds > median + 1000));
        Report.Write("waited_for_processor_ms", waited / 1e6);
        Report.WriteLatencies(done);
        world.Finish();
        Report.Write("checksum", world.Checksum % 1_000_000_007);
        Report.WriteHeap();
        return 0;
    }

    /// <summary>Sleeps while there is time, then spins: a sleep of a millisecond takes a little longer.</summary>
    private static void WaitUntil(long due)
    {
        while (true)
        {
            var left = due - Stopwatch.GetTimestamp();
            if (left <= 0)
            {
                return;
            }

            if (left > 2 * Stopwatch.Frequency / 1000)
            {
                Thread.Sleep(1);
            }
            else
            {
                Thread.SpinWait(20);
            }
        }
    }
}
