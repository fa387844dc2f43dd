using Freehold.Compare;

Options options;
try
{
    options = Options.Parse(args);
}
catch (FormatException e)
{
    Console.Error.WriteLine("Compare: " + e.Message);
    return 2;
}

if (options.ShowHelp)
{
    Console.WriteLine(Options.Help);
    return 0;
}

Directory.CreateDirectory(options.Output);
// Before the load of the runs.
var machine = Machine.Describe(options);
var publisher = new Publisher(options);
var bars = new Bars();
var sections = new List<string>();
foreach (var suite in options.Suites)
{
    sections.Add(suite switch
    {
        "allocate-delete" => new AllocateDelete(options, publisher, bars).Run(),
        "random-deletion" => new RandomDeletion(options, publisher, bars).Run(),
        "gc-simulator" => new GcSimulator(options, publisher, bars).Run(),
        "red-black-tree" => new RedBlackTree(options, publisher, bars).Run(),
        "random-replacement" => new RandomReplacement(options, publisher, bars).Run(),
        "web-server" => new WebServer(options, publisher, bars).Run(),
        "caching-server" => new CachingServer(options, publisher, bars).Run(),
        "unported" => new Unported(options, publisher, bars).Run(),
        "growth" => new Growth(options, publisher, bars).Run(),
        "micro" => new Micro(options, bars).Run(),
        "compute-only" => new ComputeOnly(options, publisher, bars).Run(),
        "publish-cost" => new PublishCost(options, publisher, bars).Run(),
        _ => Evaluation.All.Single(evaluation => evaluation.Suite == suite).Run(options, publisher, bars),
    });
}

var summary = $"# Figures\n\n{options.Repetitions} interleaved runs of each cell{(options.Quick ? ", quick mode" : "")}, "
    + $"{Environment.ProcessorCount} processors.\n\n{bars}\n{string.Join('\n', sections)}";
File.WriteAllText(Path.Combine(options.Output, "summary.md"), summary);
new ReportPage(options, machine).Write(bars, sections);
Console.Write(summary);
return Log.HasFailures || (options.Strict && !bars.AllMet) ? 1 : 0;
