using System.Globalization;

namespace Freehold.Maps;

/// <summary>The command line.</summary>
public sealed class Options
{
    public const string Usage = """
        usage: freehold-maps PROGRAM [options]

        Reads a published NativeAOT program (linux-x64) and says for how much of its managed code the place of every reference is known.

          --symbols FILE             debug symbols for names; default: PROGRAM.dbg when it exists
          --json                     the figures as JSON
          --method NAME              instructions and live reference slots of one method; NAME may be part of a name, or 0xADDRESS
          --fail-below PERCENT       exit code 1 when fewer of the methods that can fault are mapped (the bar is 100)
          --fail-below-bytes PERCENT exit code 1 when a smaller share of code bytes lies in interruptible ranges
          --help

        exit codes: 0 good, 1 below a limit, 2 wrong usage, 3 not a program that can be read, 4 GC info that cannot be decoded
        """;

    public string Program { get; private set; } = "";

    public string? Symbols { get; private set; }

    public string? Method { get; private set; }

    public bool Json { get; private set; }

    public bool Help { get; private set; }

    public double? FailBelow { get; private set; }

    public double? FailBelowBytes { get; private set; }

    /// <summary>Returns what is wrong with <paramref name="args"/>, or null.</summary>
    public static string? Parse(IReadOnlyList<string> args, out Options options)
    {
        options = new Options();
        for (int i = 0; i < args.Count; i++)
        {
            string name = args[i];
            string? value = i + 1 < args.Count ? args[i + 1] : null;
            switch (name)
            {
                case "--help" or "-h":
                    options.Help = true;
                    return null;
                case "--json":
                    options.Json = true;
                    continue;
                case "--symbols" or "--method" or "--fail-below" or "--fail-below-bytes" when value is null:
                    return $"{name} needs a value.";
                case "--symbols":
                    options.Symbols = value;
                    break;
                case "--method":
                    options.Method = value;
                    break;
                case "--fail-below" or "--fail-below-bytes":
                    if (!double.TryParse(value, NumberStyles.Float, CultureInfo.InvariantCulture, out double percent) || percent is not (>= 0 and <= 100))
                    {
                        return $"{name} needs a percentage between 0 and 100, not '{value}'.";
                    }

                    if (name == "--fail-below")
                    {
                        options.FailBelow = percent;
                    }
                    else
                    {
                        options.FailBelowBytes = percent;
                    }

                    break;
                case ['-', ..]:
                    return $"Unknown option '{name}'.";
                default:
                    if (options.Program.Length > 0)
                    {
                        return $"One program at a time: '{options.Program}' or '{name}'.";
                    }

                    options.Program = name;
                    continue;
            }

            i++;
        }

        return options.Program.Length == 0 ? "No program named." :
            options.Method is not null && (options.Json || options.FailBelow is not null || options.FailBelowBytes is not null) ? "--method goes with no option but --symbols." : null;
    }
}
