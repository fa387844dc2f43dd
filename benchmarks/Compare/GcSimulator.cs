namespace Freehold.Compare;

/// <summary>The tree of the GC simulator, by payload, share of short-lived objects and threads.</summary>
internal sealed class GcSimulator(Options options, Publisher publisher, Bars bars)
{
    private const string Time = "ns_per_object";

    public string Run()
    {
        var programs = publisher.PublishWithNative("GcSimulator");
        var cells = new List<Cell>();
        var levels = options.Quick ? 20 : 23;
        int[] payloads = options.Quick ? [64] : [16, 64, 256];
        int[] threads = options.Quick ? [1] : [1, 2];
        foreach (var thread in threads)
        {
            foreach (var payload in payloads)
            {
                foreach (var shortLived in (int[])[10, 50, 90])
                {
                    var cell = new Cell($"{payload} B, {shortLived}% short-lived, {thread} thread{(thread == 1 ? "" : "s")}", Time);
                    Log.Progress($"gc-simulator: cell {cells.Count + 1} of {threads.Length * payloads.Length * 3}: {cell.Name}");
                    for (var i = 0; i < options.Repetitions; i++)
                    {
                        cell.Measure(programs, "--levels", $"{levels}", "--payload", $"{payload}", "--short-lived", $"{shortLived}", "--threads", $"{thread}");
                    }

                    cells.Add(cell);
                }
            }
        }

        Workload.AddBars(bars, "gc-simulator", cells);
        return $"## GC simulator\n\nA tree of 2^{levels} objects, its subtrees of 15 replaced at random, until twice as many objects were replaced; ns for each object made, short-lived ones too. Medians.\n\n"
            + Workload.Write(options, "gc-simulator", Time, cells);
    }
}
