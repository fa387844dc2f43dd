// The command line: `list`, `run NAME`, `heap`. Exit code 0, or 1 when a program threw, or 2 for bad arguments.
using System.Globalization;

namespace Freehold.Differential;

internal static class Program
{
    private static int Main(string[] args)
    {
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.InvariantCulture;
        switch (args)
        {
            case ["list"]:
                foreach (Entry entry in Catalog.All)
                    Console.WriteLine(entry.Name);
                return 0;
            case ["heap"]:
                Console.WriteLine(Manual.IsLive ? "freehold" : "stock");
                return 0;
            case ["run", string name]:
                return Run(name);
            case [string command, ..] when Catalog.Commands.TryGetValue(command, out Func<string[], int>? run):
                return run(args[1..]);
            default:
                Console.Error.WriteLine($"usage: {Path.GetFileName(Environment.ProcessPath)} list | heap | run NAME");
                return 2;
        }
    }

    private static int Run(string name)
    {
        foreach (Entry entry in Catalog.All)
        {
            if (entry.Name != name)
                continue;
            try
            {
                entry.Run();
                Console.WriteLine("done " + name);
                return 0;
            }
            catch (Exception exception)
            {
                Console.WriteLine("unhandled " + exception.GetType().FullName + ": " + exception.Message);
                Console.Error.WriteLine(exception);
                return 1;
            }
        }
        Console.Error.WriteLine("no program is called " + name + "; see `list`");
        return 2;
    }
}
