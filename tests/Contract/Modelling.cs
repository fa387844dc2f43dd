namespace Freehold.Contract;

/// <summary>`model SEED STEPS THREADS`: random graphs of objects, held beside a model that knows what each object must contain.</summary>
internal static class Modelling
{
    public static IEnumerable<Case> All()
    {
        yield return new("model", Run);
    }

    private static void Run(string[] arguments)
    {
        if (arguments is not [string seedText, string stepsText, string threadsText])
            throw new ContractException("arguments: model SEED STEPS THREADS");
        int seed = int.Parse(seedText), steps = int.Parse(stepsText), threads = int.Parse(threadsText);
        Console.WriteLine($"seed {seed}, {steps} steps, {threads} threads");
        var shared = new SharedSlots();
        var failures = new string?[threads];
        Thread[] workers = [.. Enumerable.Range(0, threads).Select(id => new Thread(() =>
        {
            var model = new Model(seed * 1_000 + id, id, shared);
            try
            {
                for (int step = 0; step < steps; step++)
                    model.Step(step);
                model.CheckAll();
            }
            catch (Exception exception)
            {
                failures[id] = $"seed {seed}, thread {id}, step {model.LastStep} ({model.LastOperation}): {exception}";
            }
        }))];
        Array.ForEach(workers, thread => thread.Start());
        Array.ForEach(workers, thread => thread.Join());
        if (failures.FirstOrDefault(failure => failure is not null) is { } first)
            throw new ContractException(first);
    }
}
