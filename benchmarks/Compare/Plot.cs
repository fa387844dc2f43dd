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
        script.Append(CultureInfo.InvariantCulture, $"set terminal pngcairo size 1200,900\nset output '{file}'\nset multiplot layout 2,1 title '{title}' noenhanced\nset xlabel 's'\nset key outside\n");
        using (var writer = new StreamWriter(data))
        {
            foreach (var name in new[] { "memory", "stall" })
            {
                script.Append(name == "memory" ? "set ylabel 'resident MB'\nset yrange [0:*]\n" : "set ylabel 'stall, ms'\nset logscale y\nset yrange [0.1:*]\n");
                // Where a heap has no stall its line is still in the key.
                script.Append("plot ").AppendJoin(", ", heaps.Select(run =>
                    $"'{data}' index '{name}-{run.Variant.Heap}' using 1:2 title '{run.Variant.Heap}' with {(name == "memory" ? "lines" : "points pt 7 ps 0.6")} lc {Colour(run.Variant)}")).Append('\n');
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

        return Run(file, script.ToString());
    }

    /// <summary>The plots of all cells that have told something over time, as Markdown.</summary>
    public static string WriteAll(Options options, string suite, List<Cell> cells)
    {
        var plots = "";
        foreach (var cell in cells)
        {
            var file = $"{suite}-{cell.Name.Replace(",", "").Replace(' ', '-')}.png";
            if (Write(Path.Combine(options.Output, file), $"{suite}, {cell.Name}", cell.LastSeries))
            {
                plots += $"\n![memory and stalls of {cell.Name}]({file})\n";
            }
        }

        return plots;
    }

    /// <summary>The same heap has the same colour in every plot.</summary>
    public static int Colour(Variant variant) => Array.IndexOf([Variant.Workstation, Variant.Server, Variant.Freehold, Variant.ServerWithoutDatas, Variant.OtherFramework, .. Variant.Natives], variant) + 1;

    /// <summary>Runs gnuplot on a script that lies beside the picture then.</summary>
    public static bool Run(string file, string script)
    {
        var commands = Path.ChangeExtension(file, ".gnuplot");
        File.WriteAllText(commands, script);
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
