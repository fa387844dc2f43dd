using System.Diagnostics;
using System.Globalization;

namespace Freehold.Compare;

/// <summary>Runs other programs.</summary>
internal static class Command
{
    /// <summary>Runs to the end and returns the exit code and standard output; standard error goes into the exception.</summary>
    public static (int ExitCode, string Output) Run(string file, params IEnumerable<string> arguments)
    {
        var start = new ProcessStartInfo(file, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        using var process = Process.Start(start)!;
        var error = process.StandardError.ReadToEndAsync();
        var output = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        return (process.ExitCode, output + error.Result);
    }

    public static string RunOrThrow(string file, params IEnumerable<string> arguments)
    {
        var (exitCode, output) = Run(file, arguments);
        return exitCode == 0
            ? output
            : throw new InvalidOperationException($"{file} {string.Join(' ', arguments)} ended with {exitCode}:\n{output}");
    }

    /// <summary>The program of a cost model. Without its source its column stays empty: null.</summary>
    public static string? CompileModel(Options options, string name)
    {
        if (options.Model(name) is not { } source)
        {
            Log.Line($"no {name}.c (--models): the model's column stays empty");
            return null;
        }

        var program = Path.Combine(options.Output, "programs", name);
        Directory.CreateDirectory(Path.GetDirectoryName(program)!);
        RunOrThrow("cc", "-O2", source, "-o", program);
        return program;
    }

    /// <summary>Runs a measured program and reads its 'name value' lines.</summary>
    /// <exception cref="InvalidOperationException">It failed, or its heap is not the expected one.</exception>
    public static Measurement Measure(string program, Variant variant, bool mayFail, params IEnumerable<string> arguments)
    {
        var (exitCode, output) = Run(program, arguments);
        var values = new Dictionary<string, double>();
        var heap = "unknown";
        foreach (var line in output.Split('\n'))
        {
            if (line.Split(' ') is not [var name, var value])
            {
                continue;
            }

            if (name == "heap")
            {
                heap = value;
            }
            else if (double.TryParse(value, CultureInfo.InvariantCulture, out var number))
            {
                values[name] = number;
            }
        }

        if ((exitCode != 0 && !mayFail) || heap != (variant.Reported ?? variant.Heap))
        {
            throw new InvalidOperationException(
                $"{program} {string.Join(' ', arguments)} ended with {exitCode}, its heap is '{heap}' (expected '{variant.Reported ?? variant.Heap}'):\n{output}");
        }

        return new Measurement(values, exitCode);
    }
}
