namespace Freehold.Differential.Programs;

/// <summary>Tasks, continuations, value tasks, completion sources and their exceptions.</summary>
internal static partial class Tasks
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task<long> FibonacciAsync(int n)
    {
        if (n < 2)
            return n;
        if (n == 9)
            await Task.Yield();
        return await FibonacciAsync(n - 1) + await FibonacciAsync(n - 2);
    }

    private static async ValueTask<int> MaybeAsync(int n)
    {
        if (n % 3 == 0)
            await Task.Delay(1);
        return n * 2;
    }

    private static async Task RunAsync()
    {
        Console.WriteLine(await FibonacciAsync(17));
        int total = 0;
        for (int i = 0; i < 60; i++)
            total += await MaybeAsync(i);
        Console.WriteLine(total);
        long[] squares = await Task.WhenAll(Enumerable.Range(0, 2_000).Select(i => Task.Run(() => (long)i * i)));
        Console.WriteLine(squares.Sum());
        var source = new TaskCompletionSource<string>(TaskCreationOptions.RunContinuationsAsynchronously);
        Task<int> chained = source.Task.ContinueWith(task => task.Result.Length, TaskScheduler.Default).ContinueWith(task => task.Result + 1, TaskScheduler.Default);
        source.SetResult("twelve chars");
        Console.WriteLine(await chained);
        Task failed = Task.WhenAll(Fail("one"), Fail("two"), Task.CompletedTask);
        try
        {
            await failed;
        }
        catch (InvalidOperationException)
        {
            // In the order in which they failed, which is anybody's guess.
            Console.WriteLine(string.Join(" and ", failed.Exception!.InnerExceptions.Select(inner => inner.Message).Order()));
        }
        var order = new List<int>();
        await foreach (Task<int> task in Task.WhenEach(Enumerable.Range(0, 5).Select(async i =>
        {
            await Task.Delay(i % 2);
            return i;
        })))
            order.Add(await task);
        Console.WriteLine(order.Order().Aggregate(0, (a, b) => a * 10 + b));
        Task nested = Task.Factory.StartNew(
            () =>
            {
                for (int i = 0; i < 4; i++)
                    Task.Factory.StartNew(() => Interlocked.Increment(ref total), CancellationToken.None, TaskCreationOptions.AttachedToParent, TaskScheduler.Default);
            },
            CancellationToken.None,
            TaskCreationOptions.None,
            TaskScheduler.Default);
        await nested;
        Console.WriteLine(total);
    }

    private static async Task Fail(string message)
    {
        await Task.Yield();
        throw new InvalidOperationException(message);
    }
}
