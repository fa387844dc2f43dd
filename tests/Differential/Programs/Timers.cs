namespace Freehold.Differential.Programs;

/// <summary>Threading, periodic and component timers, and delays.</summary>
internal static partial class Timers
{
    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        using var fired = new CountdownEvent(5);
        using (var timer = new Timer(state => ((CountdownEvent)state!).TryAddOrSignal(), fired, 1, 2))
            Console.WriteLine(fired.Wait(Timeout.Infinite));
        using (var periodic = new PeriodicTimer(TimeSpan.FromMilliseconds(2)))
        {
            int ticks = 0;
            while (ticks < 5 && await periodic.WaitForNextTickAsync())
                ticks++;
            Console.WriteLine(ticks);
        }
        using (var timer = new System.Timers.Timer(2) { AutoReset = false })
        {
            var elapsed = new TaskCompletionSource<string>();
            timer.Elapsed += (sender, _) => elapsed.TrySetResult(sender!.GetType().Name);
            timer.Start();
            Console.WriteLine(await elapsed.Task);
        }
        Task[] delays = [.. Enumerable.Range(0, 300).Select(i => Task.Delay(i % 10))];
        await Task.WhenAll(delays);
        Console.WriteLine(delays.All(task => task.IsCompletedSuccessfully));
        var timers = new List<Timer>();
        int count = 0;
        for (int i = 0; i < 200; i++)
            timers.Add(new Timer(_ => Interlocked.Increment(ref count), null, i % 7, Timeout.Infinite));
        SpinWait.SpinUntil(() => Volatile.Read(ref count) == 200);
        foreach (Timer timer in timers)
            await timer.DisposeAsync();
        Console.WriteLine(count);
        try
        {
            await Task.Delay(Timeout.Infinite).WaitAsync(TimeSpan.FromMilliseconds(5));
        }
        catch (TimeoutException)
        {
            Console.WriteLine("timeout");
        }
    }

    private static void TryAddOrSignal(this CountdownEvent countdown)
    {
        if (!countdown.IsSet)
        {
            try
            {
                countdown.Signal();
            }
            catch (InvalidOperationException)
            {
                // A tick that raced with the last one.
            }
        }
    }
}
