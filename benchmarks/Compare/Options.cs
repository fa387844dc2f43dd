using System.Globalization;

namespace Freehold.Compare;

/// <summary>The command line, and the folders.</summary>
internal sealed class Options
{
    public const string Help = """
        Compare [suite...] [options]
        Publishes the benchmarks with the stock collectors and with Freehold, runs them in turn, and compares.

        Suites (default: all)
          allocate-delete   allocate and delete, by size, number in flight, threads and order
          random-deletion   a heap of gigabytes deleted in random order: mappings and memory
          gc-simulator      a tree of up to 2^23 objects, its subtrees replaced at random, short-lived objects beside
          red-black-tree    ten million nodes, ten million operations
          random-graph        up to 8 million vertices, each replaced at random and its neighbours patched
          caching             Microsoft.Extensions.Caching.Memory, values that expire and are deleted by their last reader
          game-loop           a frame every 4 ms; jitter
          compiler-like       parse, bind and emit C#; what a compilation makes dies with it, in a scope
          dataflow            streams in epochs: aggregation, grouping, windowed join; operators free batches and state
          key-value-store     20 million puts and gets; index in memory, values on disk
          random-replacement  one table of a million objects, each replaced at random; the cost model beside it
          caching-server      the same cache behind Kestrel, under load by wrk
          web-server          Kestrel under load by wrk, beside the server collector without DATAS too; nothing is deleted
          unported            LINQ, JSON, strings, tasks, a cache that replaces; beside the same
          growth              a ConcurrentDictionary that grows, then replaces under garbage; nothing is deleted
          micro             small operations, with BenchmarkDotNet: allocation, barriers, comparisons, calls, casts
          compute-only      programs that do not allocate
          publish-cost      time to publish with a warm cache, size of the executable

        Options
          --quick           fewer cells and smaller ones
          --repetitions N   runs of each cell and heap, interleaved (default 3; with --quick 1)
          --seconds N       web-server, caching-server, unported: of each cell and heap (default 60; with --quick 10)
          --random-order    allocate-delete in random order too
          --heaps LIST      of workstation, server, server-no-datas, freehold, and malloc, jemalloc, mimalloc: the native peers of gc-simulator, red-black-tree
                            and random-graph (default these); freehold-net9.0: the other target framework beside them
          --malloc LIBRARY  another library for the native peer 'malloc', which is linked with it
          --no-publish      use what was published last (micro publishes each time)
          --models FOLDER   sources of the cost models (default: ../shared/models beside the repository, if there)
          --strict          exit with 1 when a bar is missed
          --help            this text

        Results: artifacts/bench/report.html with its plots, *.csv and summary.md.
        """;

    public static readonly string[] AllSuites = ["allocate-delete", "random-deletion", "gc-simulator", "red-black-tree", .. Evaluation.All.Select(evaluation => evaluation.Suite), "random-replacement", "caching-server", "web-server", "unported", "growth", "micro", "compute-only", "publish-cost"];

    private bool _haveVariants;

    public List<string> Suites { get; } = [];

    public bool Quick { get; private set; }

    public int Repetitions { get; private set; }

    public bool RandomOrder { get; private set; }

    public Variant[] Variants { get; private set; } = Variant.All;

    /// <summary>How long a cell of web-server and unported runs.</summary>
    public int Seconds { get; private set; }

    /// <summary>The native peers that run too.</summary>
    public Variant[] Natives { get; private set; } = Variant.Natives;

    /// <summary>A library that brings malloc and free for the native peers, or null: the C library's.</summary>
    public string? Malloc { get; private set; }

    public bool Publish { get; private set; } = true;

    public bool Strict { get; private set; }

    public string? Models { get; private set; }

    public bool ShowHelp { get; private set; }

    /// <summary>Root of the repository.</summary>
    public string Root { get; } = FindRoot();

    public string Output => Path.Combine(Root, "artifacts", "bench");

    /// <summary>The source of a cost model, or null: they are not part of the repository.</summary>
    public string? Model(string name)
    {
        var file = Path.Combine(Models ?? Path.Combine(Root, "..", "shared", "models"), name + ".c");
        return File.Exists(file) ? file : null;
    }

    /// <exception cref="FormatException">An argument is unknown or has no valid value.</exception>
    public static Options Parse(string[] arguments)
    {
        var options = new Options();
        for (var i = 0; i < arguments.Length; i++)
        {
            switch (arguments[i])
            {
                case "--quick":
                    options.Quick = true;
                    break;
                case "--repetitions":
                    options.Repetitions = int.TryParse(arguments.ElementAtOrDefault(++i), NumberStyles.None, CultureInfo.InvariantCulture, out var n) && n > 0
                        ? n
                        : throw new FormatException("--repetitions needs a number of at least 1.");
                    break;
                case "--seconds":
                    options.Seconds = int.TryParse(arguments.ElementAtOrDefault(++i), NumberStyles.None, CultureInfo.InvariantCulture, out var seconds) && seconds > 0
                        ? seconds
                        : throw new FormatException("--seconds needs a number of at least 1.");
                    break;
                case "--random-order":
                    options.RandomOrder = true;
                    break;
                case "--heaps":
                    Variant[] known = [.. Variant.All, Variant.ServerWithoutDatas, Variant.OtherFramework, .. Variant.Natives];
                    var heaps = (arguments.ElementAtOrDefault(++i) ?? "").Split(',').Select(name => known.FirstOrDefault(v => v.Heap == name)
                        ?? throw new FormatException($"--heaps: '{name}' is none of {string.Join(", ", known.Select(v => v.Heap))}.")).ToLookup(v => v.IsNative);
                    options.Natives = [.. heaps[true]];
                    options.Variants = [.. heaps[false]];
                    options._haveVariants = true;
                    break;
                case "--malloc":
                    options.Malloc = arguments.ElementAtOrDefault(++i) is { } library && File.Exists(library)
                        ? Path.GetFullPath(library)
                        : throw new FormatException("--malloc needs a library that exists.");
                    break;
                case "--no-publish":
                    options.Publish = false;
                    break;
                case "--models":
                    options.Models = arguments.ElementAtOrDefault(++i) is { } folder && Directory.Exists(folder)
                        ? folder
                        : throw new FormatException("--models needs a folder that exists.");
                    break;
                case "--strict":
                    options.Strict = true;
                    break;
                case "--help" or "-h":
                    options.ShowHelp = true;
                    break;
                case var suite when AllSuites.Contains(suite):
                    options.Suites.Add(suite);
                    break;
                default:
                    throw new FormatException($"Unknown argument '{arguments[i]}'. --help lists them.");
            }
        }

        if (options.Suites.Count == 0)
        {
            options.Suites.AddRange(AllSuites);
        }

        if (options.Repetitions == 0)
        {
            options.Repetitions = options.Quick ? 1 : 3;
        }

        if (options.Seconds == 0)
        {
            options.Seconds = options.Quick ? 10 : 60;
        }

        return options;
    }

    /// <summary>The heaps that the command line names, or the usual ones and these.</summary>
    public IEnumerable<Variant> With(Variant[] more) => _haveVariants ? Variants : Variants.Concat(more);

    private static string FindRoot()
    {
        for (var folder = AppContext.BaseDirectory; folder is not null; folder = Path.GetDirectoryName(folder))
        {
            if (File.Exists(Path.Combine(folder, "eng", "Versions.props")))
            {
                return folder;
            }
        }

        throw new FormatException("Compare must be built inside the repository.");
    }
}
