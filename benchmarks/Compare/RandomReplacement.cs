using System.Globalization;

namespace Freehold.Compare;

/// <summary>Random replacement in one table, and the cost model of promotion beside it.</summary>
internal sealed class RandomReplacement(Options options, Publisher publisher, Bars bars)
{
    private const string Time = "ns_per_replacement";

    public string Run()
    {
        var programs = publisher.Publish("RandomReplacement");
        var model = Command.CompileModel(options, "promote_model");
        const int Live = 1_000_000;
        var operations = options.Quick ? 10_000_000 : 50_000_000;
        var cell = new Cell($"{Live:N0} live, {operations:N0} replaced", Time);
        var modelTimes = new List<double>();
        var modelPeak = double.NaN;
        for (var i = 0; i < options.Repetitions; i++)
        {
            Log.Progress($"random-replacement: round {i + 1} of {options.Repetitions}");
            cell.Measure(programs, "--live", $"{Live}", "--operations", $"{operations}");
            if (model is not null)
            {
                // '1000000 live: 66.2 ns per replacement; peak 2.31 times the live bytes; …'
                var words = Command.RunOrThrow(model, $"{Live}", $"{operations}").Split(' ');
                modelTimes.Add(double.Parse(words[2], CultureInfo.InvariantCulture));
                modelPeak = double.Parse(words[Array.IndexOf(words, "peak") + 1], CultureInfo.InvariantCulture);
            }
        }

        var modelTime = modelTimes.Count == 0 ? double.NaN : modelTimes.Order().ElementAt(modelTimes.Count / 2);
        bars.Add("random-replacement: Freehold / model, medians, at most 2", 2, false, [(cell.Name, cell.Time(Variant.Freehold) / modelTime)]);
        Workload.AddStallBar(bars, "random-replacement", [cell]);
        var table = new Table("model ns", "Freehold / model", "model's peak, of the live bytes");
        table.Add(modelTime, cell.Time(Variant.Freehold) / modelTime, modelPeak);
        return "## Random replacement\n\nOne table of objects of 64 bytes, each operation replaces a random one; ns for each. Medians.\n\n"
            + Workload.Write(options, "random-replacement", Time, [cell]) + "\n" + table.ToMarkdown();
    }
}
