using System.Diagnostics;
using System.Text;

namespace Freehold.Testing;

/// <summary>A process with what it writes.</summary>
/// <param name="ExitCode">128 + n if signal n ended it; null if it was ended since its time was over.</param>
/// <param name="Output">What it wrote, on both outputs.</param>
internal sealed record CapturedProcess(int? ExitCode, string Output)
{
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(30);

    /// <summary>Runs it to its end, or for this long.</summary>
    internal static CapturedProcess Run(ProcessStartInfo start, TimeSpan timeout)
    {
        var output = new StringBuilder();
        using var process = new Process { StartInfo = start };
        process.OutputDataReceived += (_, line) => Append(line.Data);
        process.ErrorDataReceived += (_, line) => Append(line.Data);
        process.Start();
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        bool ended = process.WaitForExit(timeout);
        if (!ended)
        {
            process.Kill(entireProcessTree: true);
        }

        // Until what it said has come; but a process that it has left behind may hold its outputs for ever.
        Task.Run(process.WaitForExit).Wait(s_patience);

        lock (output)
        {
            return new CapturedProcess(ended ? process.ExitCode : null, output.ToString().TrimEnd());
        }

        void Append(string? line)
        {
            if (line is not null)
            {
                lock (output)
                {
                    output.AppendLine(line);
                }
            }
        }
    }
}
