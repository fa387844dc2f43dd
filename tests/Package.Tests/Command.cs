using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Text;
using Freehold.Tests;

namespace Freehold.Package.Tests;

/// <summary>Runs programs.</summary>
public static class Command
{
    /// <summary>Starts a program whose output is collected; null in <paramref name="environment"/> removes a variable.</summary>
    public static (Process Process, StringBuilder Output) Start(
        string directory, IReadOnlyDictionary<string, string?> environment, string program, params IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            WorkingDirectory = directory,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        foreach ((string name, string? value) in environment)
        {
            start.Environment[name] = value;
        }

        var output = new StringBuilder();
        Process process = Process.Start(start)!;
        process.OutputDataReceived += Append;
        process.ErrorDataReceived += Append;
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
        return (process, output);

        void Append(object sender, DataReceivedEventArgs line)
        {
            lock (output)
            {
                output.AppendLine(line.Data);
            }
        }
    }

    /// <summary>Waits for a program of <see cref="Start"/>, which fails the test when it hangs.</summary>
    public static CommandResult Wait(Process process, StringBuilder output)
    {
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(30), () => Length(output));
        if (killed is null)
        {
            process.WaitForExit();
        }

        lock (output)
        {
            return killed is null ? new CommandResult(process.ExitCode, output.ToString()) : throw new TimeoutException($"{killed}. It had said:\n{output}");
        }
    }

    /// <summary>Runs a program to its end.</summary>
    public static CommandResult Run(string directory, IReadOnlyDictionary<string, string?> environment, string program, params IEnumerable<string> arguments)
    {
        (Process process, StringBuilder output) = Start(directory, environment, program, arguments);
        using (process)
        {
            return Wait(process, output);
        }
    }

    /// <summary>Runs a tool that must succeed, and returns what it said.</summary>
    public static string Tool(string program, params IEnumerable<string> arguments)
    {
        CommandResult result = Run(Environment.CurrentDirectory, new Dictionary<string, string?>(), program, arguments);
        return result.ExitCode == 0 ? result.Output : throw new InvalidOperationException($"{program} failed: {result.Output}");
    }

    private static long Length(StringBuilder output)
    {
        lock (output)
        {
            return output.Length;
        }
    }
}
