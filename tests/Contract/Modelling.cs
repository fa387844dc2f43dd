namespace Freehold.Contract;

/// <summary>
/// `model SEED STEPS THREADS [SLOTS [RARITY]]`: random graphs of objects, held beside a model that knows what each object must contain;
/// `model-collections SEED STEPS THREADS`: the framework's collections, beside numbers; `model-reuse SEED STEPS THREADS`: references to deleted objects, beside
/// what these were. Steps are those of each thread.
/// </summary>
internal static class Modelling
{
    public static IEnumerable<Case> All()
    {
        yield return new("model", RunGraphs);
        yield return new("model-collections", RunCollections);
        yield return new("model-reuse", RunReuse);
    }

    private static void RunGraphs(string[] arguments)
    {
        var shared = new SharedSlots();
        var size = new ModelSize(arguments.Length > 3 ? int.Parse(arguments[3]) : 3_000, arguments.Length > 4 ? int.Parse(arguments[4]) : 1);
        // Seed, steps and threads are common to the models; more than five arguments are left for Run to refuse.
        Run(arguments.AsSpan(0, arguments.Length is 4 or 5 ? 3 : arguments.Length), (seed, thread, steps, _) =>
        {
            var model = new Model(seed, thread, shared, size);
            try
            {
                for (int step = 0; step < steps; step++)
                    model.Step(step);
                model.CheckAll();
                return null;
            }
            catch (Exception exception)
            {
                return $"step {model.LastStep} ({model.LastOperation}): {exception}";
            }
        });
    }

    private static void RunCollections(string[] arguments)
    {
        SharedTable? shared = null;
        Run(arguments, (seed, thread, steps, threads) =>
        {
            SharedTable table = Interlocked.CompareExchange(ref shared, new SharedTable(threads), null) ?? shared!;
            var models = new CollectionModels(seed, thread, table);
            try
            {
                models.Run(steps);
                return null;
            }
            catch (Exception exception)
            {
                return $"step {models.LastStep} ({models.LastModel}): {exception}";
            }
        });
    }

    private static void RunReuse(string[] arguments)
    {
        var shared = new ReusedAddresses.Shared();
        Run(arguments, (seed, _, steps, _) =>
        {
            var model = new ReusedAddresses(seed, shared);
            try
            {
                model.Run(steps);
                return null;
            }
            catch (Exception exception)
            {
                return $"step {model.LastStep}: {exception}";
            }
        });
        Console.WriteLine($"{Heap.GetStatistics().AddressSpaceReused >> 20} MB of addresses were used again");
    }

    /// <summary>`work` is given a seed, the number of the thread, the steps and how many threads there are; it says what went wrong.</summary>
    private static void Run(ReadOnlySpan<string> arguments, Func<int, int, int, int, string?> work)
    {
        if (arguments is not [string seedText, string stepsText, string threadsText])
            throw new ContractException("arguments: SEED STEPS THREADS, and for model SLOTS RARITY");
        int seed = int.Parse(seedText), steps = int.Parse(stepsText), threads = int.Parse(threadsText);
        Console.WriteLine($"seed {seed}, {steps} steps, {threads} threads");
        var failures = new string?[threads];
        Thread[] workers = [.. Enumerable.Range(0, threads).Select(id => new Thread(() =>
        {
            if (work(seed * 1_000 + id, id, steps, threads) is { } failure)
                failures[id] = $"seed {seed}, thread {id}, {failure}";
        }))];
        Array.ForEach(workers, thread => thread.Start());
        Array.ForEach(workers, thread => thread.Join());
        if (failures.FirstOrDefault(failure => failure is not null) is { } first)
            throw new ContractException(first);
    }
}
