using System.Globalization;

namespace Freehold.Benchmarks;

/// <summary>The options of a measured program: each a name and a number.</summary>
internal sealed class Arguments
{
    private readonly Dictionary<string, long> _values;

    private Arguments(Dictionary<string, long> values) => _values = values;

    public long this[string name] => _values[name];

    /// <summary>Reads the command line over the default values. Null, with a message on standard error, when it is not one.</summary>
    public static Arguments? Parse(string program, string help, string[] arguments, Dictionary<string, long> defaults)
    {
        for (var i = 0; i < arguments.Length; i += 2)
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
