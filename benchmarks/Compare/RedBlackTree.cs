namespace Freehold.Compare;

/// <summary>A red-black tree is built, then nodes are removed, found and inserted.</summary>
internal sealed class RedBlackTree(Options options, Publisher publisher, Bars bars)
{
    private const string Time = "ns_per_insertion_or_operation";

    public string Run()
    {
        var programs = publisher.PublishWithNative("RedBlackTree");
        var number = options.Quick ? 1_000_000 : 10_000_000;
        var cell = new Cell($"{number:N0} nodes, {number:N0} operations", Time);
        for (var i = 0; i < options.Repetitions; i++)
        {
            Log.Progress($"red-black-tree: round {i + 1} of {options.Repetitions}");
            cell.Measure(programs, "--nodes", $"{number}", "--operations", $"{number}");
        }

        Workload.AddBars(bars, "red-black-tree", [cell]);
        return "## Red-black tree\n\nns for each insertion of the building and each operation after it (a third each removals, look-ups and insertions at random keys). Medians.\n\n"
            + Workload.Write(options, "red-black-tree", Time, [cell]);
    }
}
