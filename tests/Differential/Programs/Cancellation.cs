namespace Freehold.Differential.Programs;

/// <summary>Tokens, linked sources, registrations and cancelled waits.</summary>
internal static partial class Cancellation
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        using var outer = new CancellationTokenSource();
        using CancellationTokenSource linked = CancellationTokenSource.CreateLinkedTokenSource(outer.Token);
        var log = new List<string>();
        for (int i = 0; i < 2_000; i++)
        {
            int id = i;
            CancellationTokenRegistration registration = linked.Token.Register(() => log.Add("r" + id));
            if (i % 3 != 0)
                registration.Dispose();
        }
        Task waiting = Task.Delay(Timeout.Infinite, linked.Token);
        outer.Cancel();
        var sum = new Checksum();
        foreach (string entry in log)
            sum.Add(entry);
        Console.WriteLine($"{log.Count} {sum} {waiting.IsCanceled} {linked.IsCancellationRequested}");
        using var timed = new CancellationTokenSource(5);
        try
        {
            await Task.Run(async () =>
            {
                while (true)
                    await Task.Delay(1, timed.Token);
            });
        }
        catch (OperationCanceledException exception)
        {
            Console.WriteLine(exception.CancellationToken == timed.Token);
        }
        using var gate = new SemaphoreSlim(0);
        using var short1 = new CancellationTokenSource();
        Task blocked = gate.WaitAsync(short1.Token);
        short1.Cancel();
        Console.WriteLine((await Record(blocked)).GetType().Name);
        using var throwing = new CancellationTokenSource();
        throwing.Token.Register(() => throw new InvalidOperationException("callback"));
        throwing.Token.Register(() => log.Clear());
        try
        {
            throwing.Cancel();
        }
        catch (AggregateException exception)
        {
            Console.WriteLine(exception.InnerExceptions.Single().Message + " " + log.Count);
        }
    }

    private static async Task<Exception> Record(Task task)
    {
        try
        {
            await task;
            return new InvalidOperationException("nothing was thrown");
        }
        catch (Exception exception)
        {
            return exception;
        }
    }
}
