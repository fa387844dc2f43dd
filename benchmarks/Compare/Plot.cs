using System.Globalization;
using System.Text;

namespace Freehold.Compare;

/// <summary>Memory and stalls over time, a colour for each heap: a PNG by gnuplot.</summary>
internal static class Plot
{
    /// <summary>False, with a message, without gnuplot or series.</summary>
    public static bool Write(string file, string title, IEnumerable<(Variant Variant, Dictionary<string, List<(double Seconds, double Value)>> Series)> runs)
    {
        var heaps = runs.Where(run => run.Series.ContainsKey("memory")).ToList();
        if (heaps.Count == 0)
        {
            return false;
        }

        var data = Path.ChangeExtension(file, ".dat");
        var script = new StringBuilder();
        script.Append(CultureInfo.InvariantCulture, $"set terminal pngcairo size 1200,900\nset output '{file}'\nset multiplot layout 2,1 title '{title}'\nset xlabel 's'\nset key outside\n");
        using (var writer = new StreamWriter(data))
        {
            foreach (var name in new[] { "memory", "stall" })
            {
                script.Append(name == "memory" ? "set ylabel 'resident MB'\nset yrange [0:*]\n" : "set ylabel 'stall, ms'\nset logscale y\nset yrange [0.1:*]\n");
                // Where a heap has no stall its line is still in the key.
                script.Append("plot ").AppendJoin(", ", heaps.Select((run, i) =>
                    $"'{data}' index '{name}-{run.Variant.Heap}' using 1:2 title '{run.Variant.Heap}' with {(name == "memory" ? "lines" : "points pt 7 ps 0.6")} lc {i + 1}")).Append('\n');
                foreach (var (variant, series) in heaps)
                {
                    writer.Write($"# {name}-{variant.Heap}\n");
                    foreach (var (seconds, value) in series.GetValueOrDefault(name) ?? [])
                    {
                        writer.Write(string.Create(CultureInfo.InvariantCulture, $"{seconds:0.###} {value:0.###}\n"));
                    }

                    writer.Write("0 NaN\n\n\n");
                }
            }
        }

        var commands = Path.ChangeExtension(file, ".gnuplot");
        File.WriteAllText(commands, script.ToString());
        try
        {
            Command.RunOrThrow("gnuplot", commands);
            return true;
        }
        catch (Exception e) when (e is InvalidOperationException or System.ComponentModel.Win32Exception)
        {
            Log.Failure($"no plot: {e.Message}");
            return false;
        }
    }
}
