namespace Freehold.Compare;

/// <summary>Small operations: what a barrier, a comparison of references, a call or a cast costs on each heap.</summary>
internal sealed class Micro(Options options, Publisher publisher, Bars bars)
{
    public string Run()
    {
        var programs = publisher.Publish("Micro");
        var runs = programs.Keys.ToDictionary(variant => variant, _ => new List<Measurement>());
        for (var i = 0; i < options.Repetitions * 3; i++)
        {
            foreach (var (variant, program) in Turns.Of(programs, i))
            {
                Log.Progress($"micro: round {i + 1} of {options.Repetitions * 3}: {variant.Heap}");
                try
                {
                    runs[variant].Add(Command.Measure(program, variant, mayFail: false));
                }
                catch (InvalidOperationException e)
                {
                    Log.Failure(e.Message);
                }
            }
        }

        var table = new Table("operation", "workstation ns", "server ns", "Freehold ns", "Freehold / workstation");
        var ratios = new Dictionary<string, double>();
        var names = runs.Values.SelectMany(list => list).FirstOrDefault()?.Values.Keys.Where(name => name.EndsWith("_ns") && !name.EndsWith("_median_ns")) ?? [];
        foreach (var name in names)
        {
            var operation = name[..^3];
            ratios[operation] = Least(Variant.Freehold) / Least(Variant.Workstation);
            table.Add(operation.Replace('_', ' '), Least(Variant.Workstation), Least(Variant.Server), Least(Variant.Freehold), ratios[operation]);

            double Least(Variant variant) => runs.TryGetValue(variant, out var list) ? Measurement.Summarise(list, name).Minimum : double.NaN;
        }

        bars.Add("micro: loop that only compares references, Freehold / stock, at most 2", 2, false, Of("compare"));
        bars.Add("micro: framework code that compares many, Freehold / stock, at most 1.03", 1.03, false, [.. Of("list_index_of"), .. Of("dictionary_keyed_by_reference"), .. Of("event_dispatch"), .. Of("delegate_equality")]);
        table.WriteCsv(Path.Combine(options.Output, "micro.csv"));
        return "## Small operations\n\nns for each, the fastest of all samples: collections of the stock heaps are not in them.\n\n" + table.ToMarkdown();

        (string, double)[] Of(string operation) => ratios.TryGetValue(operation, out var ratio) ? [(operation.Replace('_', ' '), ratio)] : [];
    }
}
