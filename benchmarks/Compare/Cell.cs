namespace Freehold.Compare;

/// <summary>The interleaved runs of one workload in one configuration, on every heap.</summary>
/// <param name="name">The configuration in words.</param>
/// <param name="time">The value of a run that says how long its work took.</param>
internal sealed class Cell(string name, string time)
{
    private readonly Dictionary<Variant, List<Measurement>> _runs = [];
    private int _rounds;

    public string Name => name;

    public IEnumerable<(Variant Variant, int Count)> Variants => _runs.Select(pair => (pair.Key, pair.Value.Count));

    /// <summary>The collector that needs less time.</summary>
    public Variant BetterStock => Variant.Stock.Where(_runs.ContainsKey).MinBy(Time) ?? Variant.Workstation;

    /// <summary>How many times the throughput of the better collector Freehold has.</summary>
    public double Gain => Time(BetterStock) / Time(Variant.Freehold);

    /// <summary>The same of the least times of each: what a shared machine adds to some of the runs is not in it.</summary>
    public double LeastGain => Variant.Stock.Select(stock => Least(stock, time)).Where(ns => !double.IsNaN(ns)).DefaultIfEmpty(double.NaN).Min() / Least(Variant.Freehold, time);

    /// <summary>Freehold's time as a part of what it needs on the other target framework: NaN where that was not asked for.</summary>
    public double ToOtherFramework => Least(Variant.Freehold, time) / Least(Variant.OtherFramework, time);

    /// <summary>Freehold's peak memory as a part of that collector's.</summary>
    public double PeakRatio => Median(Variant.Freehold, "peak_resident_bytes") / Median(BetterStock, "peak_resident_bytes");

    /// <summary>Runs every program once; programs that print another checksum than the first one have failed.</summary>
    public void Measure(Dictionary<Variant, string> programs, params string[] arguments) => Measure(programs, (program, variant) => Command.Measure(program, variant, mayFail: false, arguments));

    /// <summary>The same, by whatever runs it.</summary>
    public void Measure(Dictionary<Variant, string> programs, Func<string, Variant, Measurement> measure)
    {
        foreach (var (variant, program) in Turns.Of(programs, _rounds++))
        {
            try
            {
                var run = measure(program, variant);
                var other = _runs.Values.SelectMany(runs => runs).FirstOrDefault(other => other.Values.GetValueOrDefault("checksum") != run.Values.GetValueOrDefault("checksum"));
                if (other is not null)
                {
                    throw new InvalidOperationException($"{name}: the checksum of {variant.Heap} is {run["checksum"]}, that of another run {other["checksum"]}.");
                }

                (_runs.TryGetValue(variant, out var runs) ? runs : _runs[variant] = []).Add(run);
            }
            catch (InvalidOperationException e)
            {
                Log.Failure(e.Message);
            }
        }
    }

    /// <summary>What the last run of each heap has told over time.</summary>
    public IEnumerable<(Variant Variant, Dictionary<string, List<(double Seconds, double Value)>> Series)> LastSeries => _runs.Select(pair => (pair.Key, pair.Value[^1].Series));

    public double Time(Variant variant) => Median(variant, time);

    public double Median(Variant variant, string value) => Summarise(variant, value).Median;

    public double Least(Variant variant, string value) => Summarise(variant, value).Minimum;

    public double Megabytes(Variant variant, string value) => Median(variant, value) / 1e6;

    private (double Minimum, double Median) Summarise(Variant variant, string value) =>
        _runs.TryGetValue(variant, out var runs) ? Measurement.Summarise(runs, value) : (double.NaN, double.NaN);
}
