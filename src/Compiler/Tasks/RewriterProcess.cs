using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Text;
using System.Threading;

namespace Freehold.Tasks;

/// <summary>One run of the rewriter, the tool that changes IL. A process of its own: MSBuild's stays free of Cecil, and a cancelled build can end it.</summary>
internal sealed class RewriterProcess(string host, string rewriter)
{
    /// <summary>Runs the rewriter to its end.</summary>
    /// <exception cref="FreeholdException">FH0011 with what it said, when it failed or was cancelled.</exception>
    public void Run(IEnumerable<string> arguments, CancellationToken cancellation)
    {
        var start = new ProcessStartInfo(string.IsNullOrEmpty(host) ? "dotnet" : host)
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.ArgumentList.Add("exec");
        start.ArgumentList.Add(rewriter);
        foreach (string argument in arguments)
        {
            start.ArgumentList.Add(argument);
        }

        var output = new StringBuilder();
        using Process process = Process.Start(start) ?? throw new IOException($"'{start.FileName}' does not start.");
        process.OutputDataReceived += Append;
        process.ErrorDataReceived += Append;
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        using (cancellation.Register(() => process.Kill(entireProcessTree: true)))
        {
            process.WaitForExit();
        }

        if (cancellation.IsCancellationRequested)
        {
            throw new FreeholdException("FH0011", "The preparation of the toolchain was cancelled. Publish again.");
        }

        if (process.ExitCode != 0)
        {
            throw new FreeholdException(
                "FH0011",
                $"{Path.GetFileName(rewriter)} failed with exit code {process.ExitCode}: {output.ToString().Trim()} "
                + "Publish again; if it fails again, report the message.");
        }

        void Append(object sender, DataReceivedEventArgs line)
        {
            lock (output)
            {
                output.AppendLine(line.Data);
            }
        }
    }
}
