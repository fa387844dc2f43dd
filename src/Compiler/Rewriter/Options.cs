using System.Collections.Generic;
using System.Linq;

namespace Freehold.Rewriter;

/// <summary>The command line.</summary>
public sealed class Options
{
    /// <summary>The text of <c>--help</c>.</summary>
    public const string Usage = """
        usage: freehold-rewrite --sdk <dir> --framework <dir> --names <file> --output <dir> [options]
               freehold-rewrite {--application <dll> --output <dll>}... [--reference <dir>]... [options]
               freehold-rewrite --escape-report <file> {--application <dll>}... [--reference <dir>]...
               freehold-rewrite --print-version

          --sdk <dir>          System.Private.*.dll of the runtime package
          --framework <dir>    the framework's assemblies of the runtime package
          --names <file>       runtime-patches/<version>/framework.json of that package
          --application <dll>  rewrite one assembly of an application; may be repeated, each with its --output
          --reference <dir>    where an application's references are; may be repeated
          --output <path>      framework: a folder that gets sdk/ and framework/; application: the new assembly
          --auto-delete        add deletions of what an application's methods make and nobody needs any more
          --escape-report <file>  write where, and why others are left; without --auto-delete nothing is rewritten, and --output not needed
          --statistics <file>  write what each pass saw, changed and skipped, as JSON
          --verbose            print each decision
          --print-version      print the patch-set id: same id, input and names, same output
        """;

    private readonly Dictionary<string, string> _values = [];
    private readonly List<string> _inputs = [];
    private readonly List<string> _outputs = [];

    /// <summary>System.Private.*.dll.</summary>
    public string? Sdk => _values.GetValueOrDefault("--sdk");

    /// <summary>The framework's assemblies.</summary>
    public string? Framework => _values.GetValueOrDefault("--framework");

    /// <summary>The names of the framework's version.</summary>
    public string? Names => _values.GetValueOrDefault("--names");

    /// <summary>The application's assemblies, and the files to write; none for the framework.</summary>
    public IEnumerable<(string Input, string Output)> Applications => _inputs.Zip(_outputs);

    /// <summary>Folder to write the framework to.</summary>
    public string Output => _outputs[0];

    /// <summary>File for the statistics.</summary>
    public string? Statistics => _values.GetValueOrDefault("--statistics");

    /// <summary>File for what the analysis of escapes found.</summary>
    public string? EscapeReport => _values.GetValueOrDefault("--escape-report");

    /// <summary>The application's assemblies.</summary>
    public IReadOnlyList<string> Inputs => _inputs;

    /// <summary>Folders with an application's references.</summary>
    public List<string> References { get; } = [];

    /// <summary>Add deletions to applications.</summary>
    public bool AutoDelete { get; private set; }

    /// <summary>Print each decision.</summary>
    public bool Verbose { get; private set; }

    /// <summary>Print the patch-set id only.</summary>
    public bool PrintVersion { get; private set; }

    /// <summary>Print the usage only.</summary>
    public bool Help { get; private set; }

    /// <summary>Reads the command line; throws <see cref="RewriteException"/> when it is malformed.</summary>
    public static Options Parse(string[] arguments)
    {
        Options options = new();
        for (int i = 0; i < arguments.Length; i++)
        {
            switch (arguments[i])
            {
                case "--verbose":
                    options.Verbose = true;
                    break;
                case "--print-version":
                    options.PrintVersion = true;
                    break;
                case "--auto-delete":
                    options.AutoDelete = true;
                    break;
                case "--help" or "-h":
                    options.Help = true;
                    break;
                case "--reference":
                    options.References.Add(Value(arguments, ref i));
                    break;
                case "--application":
                    options._inputs.Add(Value(arguments, ref i));
                    break;
                case "--output":
                    options._outputs.Add(Value(arguments, ref i));
                    break;
                case "--sdk" or "--framework" or "--names" or "--statistics" or "--escape-report":
                    string name = arguments[i];
                    if (!options._values.TryAdd(name, Value(arguments, ref i)))
                    {
                        throw new RewriteException($"{name} is given twice.");
                    }

                    break;
                default:
                    throw new RewriteException($"Unknown option '{arguments[i]}'.\n{Usage}");
            }
        }

        if (!options.PrintVersion && !options.Help)
        {
            options.Validate();
        }

        return options;
    }

    private static string Value(string[] arguments, ref int index) =>
        ++index < arguments.Length ? arguments[index] : throw new RewriteException($"{arguments[index - 1]} needs a value.");

    private void Validate()
    {
        bool isFramework = Sdk is not null && Framework is not null && Names is not null;
        if (isFramework == (_inputs.Count > 0) || isFramework != (Sdk is not null || Framework is not null || Names is not null))
        {
            throw new RewriteException($"Give either --sdk, --framework and --names, or --application.\n{Usage}");
        }

        int wanted = isFramework ? 1 : EscapeReport is null || AutoDelete ? _inputs.Count : 0;
        if (_outputs.Count != wanted)
        {
            throw new RewriteException($"--output is {(_outputs.Count < wanted ? "missing" : "given too often")}.\n{Usage}");
        }
    }
}
