namespace Freehold.Compare;

/// <summary>A ConcurrentDictionary under a stream of garbage: who deletes nothing.</summary>
internal sealed class Growth(Options options, Publisher publisher, Bars bars)
{
    private const string Time = "ns_per_operation";

    public string Run()
    {
        var programs = publisher.Publish("Growth");
        var seconds = options.Quick ? 5 : 20;
        List<Cell> cells = [];
        foreach (var live in new[] { 1_000_000, 4_000_000 })
        {
            var cell = new Cell($"{live:N0} live, {seconds} s", Time);
            cells.Add(cell);
            for (var i = 0; i < options.Repetitions; i++)
            {
                Log.Progress($"growth: {live:N0}, round {i + 1} of {options.Repetitions}");
                cell.Measure(programs, "--live", $"{live}", "--seconds", $"{seconds}");
            }
        }

        bars.Add("growth: throughput, Freehold / better stock, at least 1", 1, true, cells.Select(cell => (cell.Name, cell.Gain)));
        Workload.AddStallBar(bars, "growth", cells);
        return "## Growth\n\nA ConcurrentDictionary that grows to so many entries; then two threads replace random ones, each with a text on the way. Nothing is deleted. Medians.\n\n"
            + Workload.Write(options, "growth", Time, cells);
    }
}
