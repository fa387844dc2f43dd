using System.Diagnostics;

namespace Freehold.Compare;

/// <summary>What Freehold adds to a publish when its cache is warm, and to the executable.</summary>
internal sealed class PublishCost(Options options, Publisher publisher, Bars bars)
{
    private const string Project = "PublishCost";

    public string Run()
    {
        // The first publish of each restores, and fills the cache.
        Variant[] variants = [.. publisher.Publish(Project).Keys.Where(variant => variant != Variant.Server)];
        var seconds = variants.ToDictionary(variant => variant, _ => new List<double>());
        for (var i = 0; i < options.Repetitions; i++)
        {
            foreach (var variant in variants)
            {
                Log.Progress($"publish-cost: round {i + 1} of {options.Repetitions}: {variant.Heap}");
                Directory.Delete(Path.Combine(options.Output, "build", variant.Heap, "obj", Project), recursive: true);
                Directory.Delete(Path.Combine(options.Output, "build", variant.Heap, "bin", Project), recursive: true);
                var clock = Stopwatch.StartNew();
                Command.RunOrThrow("dotnet", publisher.Arguments(Project, variant));
                seconds[variant].Add(clock.Elapsed.TotalSeconds);
            }
        }

        var table = new Table("heap", "publish s (min)", "publish s (median)", "executable bytes");
        foreach (var variant in variants)
        {
            table.Add(variant.Heap, seconds[variant].Min(), seconds[variant].Order().ElementAt(seconds[variant].Count / 2), Size(variant));
        }

        if (variants.Contains(Variant.Freehold) && variants.Contains(Variant.Workstation))
        {
            bars.Add("publish with a warm cache: Freehold / stock, at most 1.5", 1.5, false,
                [(Project, seconds[Variant.Freehold].Min() / seconds[Variant.Workstation].Min())]);
            bars.Add("executable: Freehold / stock, at most 1.15", 1.15, false, [(Project, (double)Size(Variant.Freehold) / Size(Variant.Workstation))]);
        }

        table.WriteCsv(Path.Combine(options.Output, "publish-cost.csv"));
        return "## Publish cost\n\nA small program, from an empty obj/, with a warm cache.\n\n" + table.ToMarkdown();

        long Size(Variant variant) => new FileInfo(Path.Combine(publisher.OutputFolder(Project, variant), Project)).Length;
    }
}
