using Serilog;
using Serilog.Core;

namespace Freehold.Differential.Programs;

/// <summary>Serilog: events of four threads, rendered into a file.</summary>
internal static class Logging
{
    public static void Run()
    {
        string path = Path.GetTempFileName();
        try
        {
            using (Logger log = new LoggerConfiguration().MinimumLevel.Debug().WriteTo.File(path, outputTemplate: "{Level} {Message}{NewLine}{Exception}").CreateLogger())
            {
                Parallel.For(0, 4, new ParallelOptions { MaxDegreeOfParallelism = 4 }, thread =>
                {
                    for (int i = 0; i < 10_000; i++)
                        log.ForContext("Thread", thread).Information("{Thread} said {Number:D6} and {Text}", thread, i, "x" + i);
                });
                log.Error(new InvalidOperationException("no stack"), "failed");
            }

            var sum = new Checksum();
            string[] lines = File.ReadAllLines(path);
            foreach (string line in lines.Order(StringComparer.Ordinal))
                sum.Add(line);
            Console.WriteLine($"{lines.Length} {sum}");
        }
        finally
        {
            File.Delete(path);
        }
    }
}
