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
        return Read(output, variant, exitCode, mayFail, $"{program} {string.Join(' ', arguments)}");
    }

    /// <summary>The values of 'name value' lines.</summary>
    public static Dictionary<string, double> Values(string output)
    {
        var values = new Dictionary<string, double>();
        foreach (var line in output.Split('\n'))
        {
            if (line.Split(' ') is [var name, var value] && double.TryParse(value, CultureInfo.InvariantCulture, out var number))
            {
                values[name] = number;
            }
        }

        return values;
    }

    /// <summary>What a measured program has said: its values, its series ('name seconds value'), its heap.</summary>
    /// <exception cref="InvalidOperationException">It failed, or its heap is not the expected one.</exception>
    public static Measurement Read(string output, Variant variant, int exitCode, bool mayFail, string command)
    {
        var heap = output.Split('\n').LastOrDefault(line => line.StartsWith("heap ", StringComparison.Ordinal))?[5..] ?? "unknown";
        if ((exitCode != 0 && !mayFail) || heap != (variant.Reported ?? variant.Heap))
        {
            throw new InvalidOperationException($"{command} ended with {exitCode}, its heap is '{heap}' (expected '{variant.Reported ?? variant.Heap}'):\n{output}");
        }

        var measured = new Measurement(Values(output), exitCode);
        foreach (var line in output.Split('\n'))
        {
            if (line.Split(' ') is [var name, var seconds, var value] && double.TryParse(seconds, CultureInfo.InvariantCulture, out var at) && double.TryParse(value, CultureInfo.InvariantCulture, out var number))
            {
                (measured.Series.TryGetValue(name, out var series) ? series : measured.Series[name] = []).Add((at, number));
            }
        }

        return measured;
    }
}
