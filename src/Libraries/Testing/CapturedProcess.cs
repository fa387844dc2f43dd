using System.Diagnostics;
using System.Text;

namespace Freehold.Testing;

/// <summary>A process with what it writes.</summary>
/// <param name="ExitCode">128 + n if signal n ended it; null if it was ended since its time was over.</param>
/// <param name="Output">What it wrote, on both outputs; of very much the first and the last.</param>
internal sealed record CapturedProcess(int? ExitCode, string Output)
{
    private const int MostOutput = 1 << 20;
    private const int KeptStart = 1 << 14;
    private const string Cut = "\n[… much more, which is not kept …]\n";
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(30);
    private static readonly TimeSpan s_step = TimeSpan.FromMilliseconds(500);

    /// <summary>Runs it to its end, or for this long. There is nothing on its standard input.</summary>
    /// <param name="start">What to run.</param>
    /// <param name="timeout">Then it is ended, with all that it has started.</param>
    /// <param name="isDone">Whether it has done what it was started for, and needs only end: it has a twentieth of the time for that.</param>
    internal static CapturedProcess Run(ProcessStartInfo start, TimeSpan timeout, Func<bool>? isDone = null)
    {
        start.RedirectStandardInput = start.RedirectStandardOutput = start.RedirectStandardError = true;
        var output = new StringBuilder();
        using var process = new Process { StartInfo = start };
        process.Start();
        EventHandler kill = (_, _) => Kill(process);
        AppDomain.CurrentDomain.ProcessExit += kill;
        try
        {
            Task read = Task.WhenAll(Read(process.StandardOutput), Read(process.StandardError));
            process.StandardInput.Close();
            bool ended = WaitForEnd(process, timeout, isDone);
            if (!ended)
            {
                Kill(process);
            }

            // Until what it said has come; but a process that it has left behind may hold its outputs for ever.
            read.Wait(s_patience);
            process.WaitForExit(s_patience);
            lock (output)
            {
                return new CapturedProcess(ended ? process.ExitCode : null, output.ToString().TrimEnd());
            }
        }
        finally
        {
            AppDomain.CurrentDomain.ProcessExit -= kill;
        }

        // By pieces, not by lines, which may be endless.
        async Task Read(StreamReader reader)
        {
            char[] piece = new char[4096];
            try
            {
                while (await reader.ReadAsync(piece).ConfigureAwait(false) is > 0 and int length)
                {
                    lock (output)
                    {
                        output.Append(piece, 0, length);
                        if (output.Length > 2 * MostOutput)
                        {
                            string end = output.ToString(output.Length - MostOutput, MostOutput);
                            output.Length = KeptStart;
                            output.Append(Cut).Append(end);
                        }
                    }
                }
            }
            catch (Exception exception) when (exception is IOException or ObjectDisposedException or InvalidOperationException)
            {
                // Nobody waits for it any more.
            }
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (Exception exception) when (exception is InvalidOperationException or AggregateException or System.ComponentModel.Win32Exception)
        {
            // It, or one that it has started, has ended meanwhile, or belongs to somebody else.
        }
    }

    private static bool WaitForEnd(Process process, TimeSpan timeout, Func<bool>? isDone)
    {
        var clock = Stopwatch.StartNew();
        TimeSpan end = timeout;
        bool done = isDone is null;
        while (clock.Elapsed < end)
        {
            TimeSpan left = end - clock.Elapsed;
            if (process.WaitForExit(left < s_step ? (left > TimeSpan.Zero ? left : TimeSpan.Zero) : s_step))
            {
                return true;
            }

            if (!done && isDone!())
            {
                done = true;
                end = clock.Elapsed + (timeout / 20);
            }
        }

        return process.WaitForExit(TimeSpan.Zero);
    }
}
