namespace Freehold.Evaluations;

internal static class Program
{
    public static async Task<int> Main(string[] args)
    {
        switch (args)
        {
            case ["RandomGraph", .. var rest]:
                return Benchmarks.RandomGraph.Program.Main(rest);
            case ["Caching", .. var rest]:
                return await Benchmarks.Caching.Program.Main(rest);
            case ["GameLoop", .. var rest]:
                return Benchmarks.GameLoop.Program.Main(rest);
            case ["CompilerLike", .. var rest]:
                return Benchmarks.CompilerLike.Program.Main(rest);
            case ["Dataflow", .. var rest]:
                return Benchmarks.Dataflow.Program.Main(rest);
            case ["KeyValueStore", .. var rest]:
                return Benchmarks.KeyValueStore.Program.Main(rest);
            default:
                Console.Error.WriteLine("Evaluations: the first argument is the name of an evaluation.");
                return 2;
        }
    }
}
