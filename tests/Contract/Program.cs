// The command line: `list`, `run NAME [ARGUMENT…]`. Prints `ok` and exits with 0, or prints `FAIL why` and exits with 1; 2 for bad arguments.
using System.Globalization;

namespace Freehold.Contract;

internal static class Program
{
    private static int Main(string[] args)
    {
        CultureInfo.DefaultThreadCurrentCulture = CultureInfo.InvariantCulture;
        switch (args)
        {
            case ["list"]:
                foreach (Case item in Catalog.All)
                    Console.WriteLine(item.Name);
                return 0;
            case ["run", string name, ..]:
                return Run(name, args[2..]);
            default:
                Console.Error.WriteLine("usage: Contract list | run NAME [ARGUMENT...]");
                return 2;
        }
    }

    private static int Run(string name, string[] arguments)
    {
        foreach (Case item in Catalog.All)
        {
            if (item.Name != name)
                continue;
            if (!Heap.IsManual)
            {
                Console.WriteLine("FAIL this executable does not run on Freehold");
                return 1;
            }
            try
            {
                item.Run(arguments);
                Heap.Verify();
                Console.WriteLine("ok");
                return 0;
            }
            catch (Exception exception)
            {
                Console.WriteLine("FAIL " + exception.GetType().Name + ": " + exception.Message);
                Console.Error.WriteLine(exception);
                return 1;
            }
        }
        Console.Error.WriteLine("no case is called " + name + "; see `Contract list`");
        return 2;
    }
}
