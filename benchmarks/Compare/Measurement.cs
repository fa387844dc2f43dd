namespace Freehold.Compare;

/// <summary>What one run of a measured program reported.</summary>
internal sealed record Measurement(Dictionary<string, double> Values, int ExitCode)
{
    /// <summary>What was told over time.</summary>
    public Dictionary<string, List<(double Seconds, double Value)>> Series { get; } = [];

    public double this[string name] => Values[name];

    /// <summary>The least and the middle of a value over several runs; NaN where none has told it.</summary>
    public static (double Minimum, double Median) Summarise(IEnumerable<Measurement> runs, string name)
    {
        var values = runs.Where(run => run.Values.ContainsKey(name)).Select(run => run[name]).Order().ToArray();
        return values.Length == 0 ? (double.NaN, double.NaN) : (values[0], values[values.Length / 2]);
    }
}
