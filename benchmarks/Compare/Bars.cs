namespace Freehold.Compare;

/// <summary>What was promised, and whether it was met: one line for each bar.</summary>
internal sealed class Bars
{
    private readonly Table _table = new("bar", "worst case", "result", "met");

    public bool AllMet { get; private set; } = true;

    /// <summary>Adds a bar that holds for every case; the worst one is shown.</summary>
    /// <param name="bar">The promise in words.</param>
    /// <param name="limit">The value that must not be passed.</param>
    /// <param name="isMinimum">Whether <paramref name="limit"/> is the least allowed value, instead of the greatest.</param>
    /// <param name="cases">Name and value of each case; values that were not measured (NaN) are left out.</param>
    public void Add(string bar, double limit, bool isMinimum, IEnumerable<(string Name, double Value)> cases)
    {
        var measured = cases.Where(c => !double.IsNaN(c.Value)).ToArray();
        if (measured.Length == 0)
        {
            return;
        }

        var worst = isMinimum ? measured.MinBy(c => c.Value) : measured.MaxBy(c => c.Value);
        var failed = measured.Count(c => isMinimum ? c.Value < limit : c.Value > limit);
        AllMet &= failed == 0;
        _table.Add(bar, worst.Name, worst.Value, failed == 0 ? "yes" : $"no ({failed} of {measured.Length} cases)");
    }

    public override string ToString() => _table.ToMarkdown();
}
