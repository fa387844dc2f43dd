using System.Globalization;

namespace DocumentIndex;

/// <summary>The command line.</summary>
internal sealed class Options
{
    public const string Help = """
        DocumentIndex [options]
        Builds an inverted index of the XML documentation of the .NET SDK's reference packs, queries it, replaces its
        documents again and again, and deletes what was replaced. The results on standard output do not depend on the heap.

          --passes N          how often each document is replaced (default 6)
          --order ORDER       files: file by file in random order, as updates arrive (default)
                              random: documents in random order
          --files N           only the first N documentation files (default all)
          --dotnet-root DIR   folder of the .NET SDK (default: DOTNET_ROOT, or that of the 'dotnet' on the PATH)
          --metrics FILE      write times, stalls and memory as 'name value' lines
          --expect-heap HEAP  fail unless the heap is 'freehold', 'workstation' or 'server'
          --beside PID        do nothing but measure stalls, until process PID ends: what the machine itself causes
          --quiet             no progress on standard error
          --help              this text
        """;

    public int Passes { get; private set; } = 6;

    public bool RandomOrder { get; private set; }

    public int Files { get; private set; } = int.MaxValue;

    public string? DotnetRoot { get; private set; }

    public string? Metrics { get; private set; }

    public string? ExpectedHeap { get; private set; }

    public int? Beside { get; private set; }

    public bool Quiet { get; private set; }

    public bool ShowHelp { get; private set; }

    /// <exception cref="FormatException">An option is unknown or has no valid value.</exception>
    public static Options Parse(string[] arguments)
    {
        var options = new Options();
        var i = 0;
        for (i = 0; i < arguments.Length; i++)
        {
            var name = arguments[i];
            switch (name)
            {
                case "--passes":
                    options.Passes = Number(name, 0);
                    break;
                case "--order":
                    options.RandomOrder = OneOf(name, "files", "random") == "random";
                    break;
                case "--files":
                    options.Files = Number(name, 1);
                    break;
                case "--dotnet-root":
                    options.DotnetRoot = Value(name);
                    break;
                case "--metrics":
                    options.Metrics = Value(name);
                    break;
                case "--expect-heap":
                    options.ExpectedHeap = OneOf(name, "freehold", "workstation", "server");
                    break;
                case "--beside":
                    options.Beside = Number(name, 1);
                    break;
                case "--quiet":
                    options.Quiet = true;
                    break;
                case "--help" or "-h":
                    options.ShowHelp = true;
                    break;
                default:
                    throw new FormatException($"Unknown option '{name}'. --help lists the options.");
            }
        }

        return options;

        string Value(string name) =>
            ++i < arguments.Length ? arguments[i] : throw new FormatException($"{name} needs a value.");

        int Number(string name, int minimum) =>
            int.TryParse(Value(name), NumberStyles.None, CultureInfo.InvariantCulture, out var number) && number >= minimum
                ? number
                : throw new FormatException($"{name} needs a whole number of at least {minimum}.");

        string OneOf(string name, params string[] choices)
        {
            var value = Value(name);
            return choices.Contains(value)
                ? value
                : throw new FormatException($"{name} is one of {string.Join(", ", choices)}, not '{value}'.");
        }
    }
}
