namespace Freehold.Soak;

/// <summary>Whether figures grow with the time that the program runs: the median of the last quarter of the samples beside that of the second.</summary>
internal static class Flatness
{
    private const int LeastSamples = 16;

    /// <summary>Writes a line for each figure. False, with the reason, if one grows or there are too few samples to tell.</summary>
    public static bool Judge(IReadOnlyList<Sample> samples, TextWriter writer)
    {
        if (samples.Count < LeastSamples)
        {
            writer.WriteLine($"{samples.Count} samples are too few to tell; {LeastSamples} are needed. Let it run for more bytes.");
            return false;
        }

        // `slack` is what does not count as growth of a figure that is small.
        var flat = true;
        flat &= Compare("PSS, MB", sample => sample.ProportionalMegabytes, 1.25, 16);
        flat &= Compare("mappings", sample => sample.Mappings, 1.5, 200);
        flat &= Compare("page tables, MB", sample => sample.PageTableMegabytes, 1.5, 4);
        flat &= Compare("tables of the heap, MB", sample => sample.TableMegabytes, 1.5, 8);
        flat &= Compare("longest stall of a sample, ms", sample => sample.StallMilliseconds, 2, 5);
        return flat;

        bool Compare(string name, Func<Sample, double> figure, double factor, double slack)
        {
            var quarter = samples.Count / 4;
            double early = Median(samples.Skip(quarter).Take(quarter).Select(figure)), late = Median(samples.TakeLast(quarter).Select(figure));
            var grows = late > (early * factor) + slack;
            writer.WriteLine(string.Create(
                System.Globalization.CultureInfo.InvariantCulture,
                $"{name}: {early:0.##} in the second quarter, {late:0.##} in the last{(grows ? $": it grows. At most {factor} times and {slack} more were expected" : "")}"));
            return !grows;
        }
    }

    private static double Median(IEnumerable<double> values)
    {
        var sorted = values.Order().ToArray();
        return sorted[sorted.Length / 2];
    }
}
