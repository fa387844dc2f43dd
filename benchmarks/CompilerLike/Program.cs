using System.Diagnostics;
using System.Reflection;

namespace Freehold.Benchmarks.CompilerLike;

internal static class Program
{
    private const string Help = """
        CompilerLike [short|full] [--compilations N] [--threads N] [--files N]
        Parses, binds and emits C#: the sources of src/ of this repository, so many files of them at once, or all (0); so often on each of so many threads. What a compilation makes dies with it, in a scope.
        """;

    public static int Main(string[] args)
    {
        var options = Arguments.Parse(
            "CompilerLike", Help, args,
            new() { ["--compilations"] = 40, ["--threads"] = 2, ["--files"] = 0 },
            new() { ["--compilations"] = 3, ["--files"] = 60 });
        if (options is null)
        {
            return 2;
        }

        var texts = Texts();
        if (options["--files"] != 0)
        {
            texts = [.. texts.Take((int)options["--files"])];
        }

        var compilations = (int)options["--compilations"];
        var workers = Enumerable.Range(0, (int)options["--threads"]).Select(_ => new Worker(texts, compilations)).ToArray();
        Report.Write("files", texts.Length);
        Report.Write("characters", texts.Sum(text => (long)text.Length));
        var watch = new Watch();
        var progress = new Progress("CompilerLike: compilations of the first thread", compilations);
        var start = Stopwatch.GetTimestamp();
        Workers.Run(workers, worker => worker.Run(worker == workers[0] ? progress : null));
        var seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        progress.End();
        watch.Stop();
        Report.Write("ns_per_operation", seconds * 1e9 / workers.Sum(worker => worker.Tokens));
        Report.Write("tokens", workers.Sum(worker => worker.Tokens));
        Report.Write("skipped_tokens", workers.Sum(worker => worker.Skipped));
        Report.Write("names_found", workers.Sum(worker => worker.Found));
        Report.WriteLatencies([.. workers.SelectMany(worker => worker.Microseconds)]);
        Report.Write("checksum", workers.Aggregate(0ul, (sum, worker) => (sum * 31) + worker.Checksum) % 1_000_000_007);
        Report.WriteHeap();
        return 0;
    }

    /// <summary>The texts that the build has put into the program.</summary>
    private static string[] Texts()
    {
        var assembly = Assembly.GetExecutingAssembly();
        return
        [
            .. assembly.GetManifestResourceNames().Where(name => name.EndsWith(".cs", StringComparison.Ordinal)).Order(StringComparer.Ordinal).Select(name =>
            {
                using var reader = new StreamReader(assembly.GetManifestResourceStream(name)!);
                return reader.ReadToEnd();
            }),
        ];
    }
}
