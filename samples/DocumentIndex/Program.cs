using System.Diagnostics;
using DocumentIndex;

return Run(args);

static int Run(string[] arguments)
{
    Options options;
    List<string> files;
    try
    {
        options = Options.Parse(arguments);
        if (options.ShowHelp)
        {
            Console.WriteLine(Options.Help);
            return 0;
        }

        if (options.ExpectedHeap is { } expected && expected != Measurements.HeapName)
        {
            Console.Error.WriteLine($"DocumentIndex: the heap is '{Measurements.HeapName}', not '{expected}'.");
            return 3;
        }

        files = options.Beside is not null ? [] : ReferencePacks.FindFiles(options.DotnetRoot);
    }
    catch (Exception e) when (e is FormatException or IOException or UnauthorizedAccessException)
    {
        Console.Error.WriteLine("DocumentIndex: " + e.Message);
        return 2;
    }

    var measurements = new Measurements();
    measurements.AddResident("start_resident");
    var ticker = new Ticker();
    if (options.Beside is { } process)
    {
        while (Directory.Exists($"/proc/{process}"))
        {
            Thread.Sleep(20);
        }
    }
    else
    {
        new Workload(options, files, measurements).Run();
    }

    ticker.Stop();
    measurements.AddProcess(ticker);

    // The index is gone: what is left after a moment, and what is left after asking for all that can be given back.
    Thread.Sleep(1000);
    measurements.AddResident("final_resident");
    GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
    measurements.AddResident("collected_resident");
    if (options.Metrics is { } path)
    {
        using var writer = new StreamWriter(path);
        measurements.Write(writer);
    }
    else
    {
        measurements.Write(Console.Error);
    }

    return 0;
}
