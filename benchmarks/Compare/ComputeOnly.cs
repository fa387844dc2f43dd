namespace Freehold.Compare;

/// <summary>Programs that do not allocate: the price of full interruptibility and of another heap, if there is one.</summary>
internal sealed class ComputeOnly(Options options, Publisher publisher, Bars bars)
{
    public string Run()
    {
        var programs = publisher.Publish("ComputeOnly");
        var runs = programs.Keys.ToDictionary(variant => variant, _ => new List<Measurement>());

        // Short runs in turn, because the machine's speed changes with time; the fastest of each counts.
        for (var i = 0; i < options.Repetitions * 3; i++)
        {
            foreach (var (variant, program) in Turns.Of(programs, i))
            {
                Log.Progress($"compute-only: round {i + 1} of {options.Repetitions * 3}: {variant.Heap}");
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

        var table = new Table("kernel", "workstation ms", "server ms", "Freehold ms", "Freehold / stock");
        var ratios = new List<(string, double)>();
        var kernels = runs.Values.SelectMany(list => list).FirstOrDefault()?.Values.Keys.Where(name => name.EndsWith("_ms")) ?? [];
        foreach (var name in kernels)
        {
            var kernel = name[..^3];
            var checksums = runs.Values.SelectMany(list => list).Select(run => run[kernel + "_checksum"]).Distinct().Count();
            if (checksums != 1)
            {
                Log.Failure($"The results of the kernel {kernel} differ between heaps.");
            }

            var ratio = Least(Variant.Freehold) / Least(Variant.Workstation);
            ratios.Add((kernel, ratio));
            table.Add(kernel, Least(Variant.Workstation), Least(Variant.Server), Least(Variant.Freehold), ratio);

            double Least(Variant variant) => runs.TryGetValue(variant, out var list) ? Measurement.Summarise(list, name).Minimum : double.NaN;
        }

        bars.Add("compute only: Freehold / stock, geometric mean, at most 1.02", 1.02, false,
            [("all kernels", Math.Exp(ratios.Select(r => Math.Log(r.Item2)).DefaultIfEmpty(double.NaN).Average()))]);
        bars.Add("compute only: Freehold / stock, each kernel, at most 1.02", 1.02, false, ratios);
        table.WriteCsv(Path.Combine(options.Output, "compute-only.csv"));
        return "## Compute only\n\nMilliseconds, the fastest of all runs.\n\n" + table.ToMarkdown();
    }
}
