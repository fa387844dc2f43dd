using System.Globalization;

namespace Freehold.Benchmarks;

/// <summary>The options of a measured program: each a name and a number.</summary>
internal sealed class Arguments
{
    private readonly Dictionary<string, long> _values;

    private Arguments(Dictionary<string, long> values) => _values = values;

    public long this[string name] => _values[name];

    /// <summary>Reads the command line over the default values. Null, with a message on standard error, when it is not one.</summary>
    /// <param name="program">Its name, for the message.</param>
    /// <param name="help">The text behind the message.</param>
    /// <param name="arguments">The command line: perhaps the name of a set, then options.</param>
    /// <param name="defaults">The options, and their values in the set 'full'.</param>
    /// <param name="shortSet">What the set 'short' has instead, some seconds of work. Null: the program has no sets.</param>
    public static Arguments? Parse(string program, string help, string[] arguments, Dictionary<string, long> defaults, Dictionary<string, long>? shortSet = null)
    {
        var first = 0;
        if (shortSet is not null && arguments is ["short" or "full", ..])
        {
            first = 1;
            foreach (var (name, value) in arguments[0] == "short" ? shortSet : [])
            {
                defaults[name] = value;
            }
        }

        for (var i = first; i < arguments.Length; i += 2)
        {
            if (!defaults.ContainsKey(arguments[i]) || i + 1 == arguments.Length
                || !long.TryParse(arguments[i + 1], NumberStyles.None, CultureInfo.InvariantCulture, out var value))
            {
                Console.Error.WriteLine($"{program}: unknown option '{arguments[i]}', or one without a number.\n{help}");
                return null;
            }

            defaults[arguments[i]] = value;
        }

        return new Arguments(defaults);
    }
}
