namespace Freehold.Compare;

/// <summary>The cells of all suites that have run, for the report page.</summary>
/// <param name="Name">Of the suite.</param>
/// <param name="Time">The value that says how long an operation took, in ns.</param>
/// <param name="Values">The other values that its programs report.</param>
/// <param name="Cells">Its cells.</param>
internal sealed record Measured(string Name, string Time, string[] Values, List<Cell> Cells)
{
    private static readonly List<Measured> s_all = [];

    public static IReadOnlyList<Measured> All => s_all;

    /// <summary>The heaps that any cell has run on.</summary>
    public IEnumerable<Variant> Variants => Cells.SelectMany(cell => cell.Variants).Select(pair => pair.Variant).Distinct();

    /// <summary>Operations a second in thousands, of all threads.</summary>
    public double Throughput(Cell cell, Variant variant) => 1e6 / cell.Time(variant);

    public static void Add(string suite, string time, string[] values, List<Cell> cells) => s_all.Add(new Measured(suite, time, values, cells));

    /// <summary>The geometric mean; cells without the value are left out.</summary>
    public static double Mean(IEnumerable<double> values) =>
        Math.Exp(values.Select(value => Math.Log(value)).Where(log => !double.IsNaN(log) && !double.IsInfinity(log)).DefaultIfEmpty(double.NaN).Average());
}
