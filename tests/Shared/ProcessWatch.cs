using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;

namespace Freehold.Tests;

/// <summary>
/// Waits for processes, and ends those that do not end by themselves: by the processor time that they and their children used, or because they used none and said nothing for
/// long. Never by the clock alone: on a busy machine everything takes longer, and nothing is wrong.
/// </summary>
public static class ProcessWatch
{
    /// <summary>A process that uses less than a hundredth of a processor for this long, and says nothing, hangs.</summary>
    private static readonly TimeSpan s_idle = TimeSpan.FromMinutes(6);

    // USER_HZ, in which Linux gives times to programs on every machine.
    private const int TicksPerSecond = 100;

    /// <summary>Waits for the end of a process.</summary>
    /// <param name="process">Started, and nobody else waits for it.</param>
    /// <param name="limit">Processor time of it and its children, all processors together.</param>
    /// <param name="output">How much it has said so far.</param>
    /// <returns>Null when it ended; else why it was killed, with its children.</returns>
    public static string? WaitForExit(Process process, TimeSpan limit, Func<long> output)
    {
        TimeSpan used = TimeSpan.Zero, usedBefore = TimeSpan.Zero;
        long saidBefore = output();
        var quiet = Stopwatch.StartNew();
        for (int wait = 10; !process.WaitForExit(wait); wait = Math.Min(wait * 2, 1_000))
        {
            // What ended without being waited for is not counted any more.
            TimeSpan now = ProcessorTime(process.Id);
            used = now > used ? now : used;
            if (used > limit)
            {
                return Kill(process, $"it used {used.TotalSeconds:F0} s of processor time, more than {limit.TotalSeconds:F0}");
            }

            if (output() != saidBefore || (used - usedBefore).TotalSeconds > 1 + (quiet.Elapsed.TotalSeconds / 100))
            {
                saidBefore = output();
                usedBefore = used;
                quiet.Restart();
            }
            else if (quiet.Elapsed > s_idle)
            {
                return Kill(process, $"it hung: {(used - usedBefore).TotalSeconds:F1} s of processor time and no output in {quiet.Elapsed.TotalMinutes:F0} minutes");
            }
        }

        return null;
    }

    private static string Kill(Process process, string reason)
    {
        process.Kill(entireProcessTree: true);
        process.WaitForExit();
        return reason;
    }

    /// <summary>What a process, its children and those that they waited for have used.</summary>
    private static TimeSpan ProcessorTime(int root)
    {
        Dictionary<int, (int Parent, long Ticks)> all = [];
        foreach (string folder in Directory.EnumerateDirectories("/proc"))
        {
            if (int.TryParse(Path.GetFileName(folder), NumberStyles.None, CultureInfo.InvariantCulture, out int id) && Read(folder) is { } times)
            {
                all[id] = times;
            }
        }

        long ticks = 0;
        foreach (int id in all.Keys)
        {
            int ancestor = id;
            for (int depth = 0; ancestor != root && depth < 100 && all.TryGetValue(ancestor, out (int Parent, long) next); depth++)
            {
                ancestor = next.Parent;
            }

            ticks += ancestor == root ? all[id].Ticks : 0;
        }

        return TimeSpan.FromSeconds((double)ticks / TicksPerSecond);
    }

    // proc(5): the name is in parentheses and may hold any; behind it the state, the parent, and as 12th to 15th field the times of the process and of its children.
    private static (int Parent, long Ticks)? Read(string folder)
    {
        try
        {
            string text = File.ReadAllText(Path.Combine(folder, "stat"));
            string[] fields = text[(text.LastIndexOf(')') + 2)..].Split(' ');
            long ticks = 0;
            for (int i = 11; i < 15; i++)
            {
                ticks += long.Parse(fields[i], CultureInfo.InvariantCulture);
            }

            return (int.Parse(fields[1], CultureInfo.InvariantCulture), ticks);
        }
        catch (Exception gone) when (gone is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }
}
