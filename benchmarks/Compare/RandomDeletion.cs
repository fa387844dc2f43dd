namespace Freehold.Compare;

/// <summary>Gigabytes deleted in random order: mappings, and when memory comes back.</summary>
internal sealed class RandomDeletion(Options options, Publisher publisher, Bars bars)
{
    private const int MostMappings = 20_000;

    public string Run()
    {
        string[] columns =
        [
            "most_mappings", "allocate_seconds", "delete_ns", "start_resident_bytes", "full_resident_bytes", "resident_at_50_percent_bytes",
            "resident_at_90_percent_bytes", "end_resident_bytes", "collected_resident_bytes",
        ];
        var table = new Table(["heap", .. columns.Select(name => name.EndsWith("_bytes") ? name.Replace("_bytes", "_mb") : name)]);
        foreach (var (variant, program) in publisher.Publish("RandomDeletion"))
        {
            Log.Progress($"random-deletion: {variant.Heap}");
            try
            {
                var run = Command.Measure(program, variant, mayFail: true, "--gigabytes", options.Quick ? "1" : "4", "--limit", $"{MostMappings}");
                table.Add([variant.Heap, .. columns.Select(name => (object)(name.EndsWith("_bytes") ? run[name] / 1e6 : run[name]))]);
                if (variant == Variant.Freehold)
                {
                    bars.Add("random deletion: mappings, at most 20,000", MostMappings, false, [(variant.Heap, run["most_mappings"])]);
                    bars.Add("random deletion: resident at the end / start, at most 1.1", 1.1, false,
                        [(variant.Heap, run["end_resident_bytes"] / run["start_resident_bytes"])]);
                }
            }
            catch (Exception e) when (e is InvalidOperationException or KeyNotFoundException)
            {
                Log.Failure(e.Message);
            }
        }

        table.WriteCsv(Path.Combine(options.Output, "random-deletion.csv"));
        return $"## Random deletion\n\nA heap of {(options.Quick ? 1 : 4)} GB of arrays of 32 to 1,024 bytes, deleted in random order.\n\n" + table.ToMarkdown();
    }
}
