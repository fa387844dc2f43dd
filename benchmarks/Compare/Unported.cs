namespace Freehold.Compare;

/// <summary>A program that knows nothing of Freehold.</summary>
internal sealed class Unported(Options options, Publisher publisher, Bars bars)
{
    public string Run()
    {
        var programs = publisher.Publish("Unported", Variant.ServerWithoutDatas);
        List<Cell> cells = [];
        foreach (var cache in new[] { 1_000, 20_000, 200_000 })
        {
            var cell = new Cell($"{cache:N0} cached", Beside.Time);
            cells.Add(cell);
            for (var i = 0; i < options.Repetitions; i++)
            {
                Log.Progress($"unported: {cache:N0}, round {i + 1} of {options.Repetitions}");
                cell.Measure(programs, "--cache", $"{cache}", "--seconds", $"{options.Seconds}");
            }
        }

        var beside = new Beside(options, "unported", cells);
        beside.AddBars(bars);
        return $"## Unported\n\nLINQ, JSON, strings, tasks, and a cache that replaces; {options.Seconds} s on two threads. Nothing is deleted.\n\n" + beside.Write();
    }
}
