namespace Freehold.Differential.Programs;

/// <summary>Thousands of timers that are made, changed, disposed of and deleted from many threads while they fire; delays that are cancelled; linked cancellation.</summary>
internal static partial class TimerStorms
{
    private sealed class Counter
    {
        public int Fired;
        public Timer? Timer;
    }

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        await Once();
        await Changed();
        await Delays();
        await Sources();
        await Periodic();
    }

    // Each fires once, whoever made it, and none after its disposal.
    private static async Task Once()
    {
        int fired = 0;
        var all = new Counter[2_000];
        Parallel.For(0, all.Length, i =>
        {
            var counter = new Counter();
            all[i] = counter;
            counter.Timer = new Timer(state =>
            {
                Interlocked.Increment(ref ((Counter)state!).Fired);
                Interlocked.Increment(ref fired);
            }, counter, i % 5, Timeout.Infinite);
        });
        while (Volatile.Read(ref fired) < all.Length)
            await Task.Yield();
        foreach (Counter counter in all)
        {
            await counter.Timer!.DisposeAsync();
            Manual.Delete(counter.Timer);
        }
        Console.WriteLine(fired + " " + all.All(counter => counter.Fired == 1));
    }

    private static async Task Changed()
    {
        int[] ticks = new int[300];
        Timer[] timers = [.. Enumerable.Range(0, ticks.Length).Select(i => new Timer(_ => Interlocked.Increment(ref ticks[i])))];
        await Task.WhenAll(Enumerable.Range(0, 4).Select(thread => Task.Run(() =>
        {
            for (int round = 0; round < 20; round++)
            {
                for (int i = thread; i < timers.Length; i += 4)
                    timers[i].Change(i % 2 == 0 ? Timeout.Infinite : 1, i % 3 == 0 ? 1 : Timeout.Infinite);
            }
        })));
        for (int i = 1; i < ticks.Length; i += 2)
        {
            while (Volatile.Read(ref ticks[i]) == 0)
                await Task.Yield();
        }
        bool disposed = true;
        foreach (Timer timer in timers)
        {
            await timer.DisposeAsync();
            try
            {
                disposed &= !timer.Change(1, 1);
            }
            catch (ObjectDisposedException)
            {
            }
        }
        int[] before = [.. ticks];
        await Task.Delay(5);
        Console.WriteLine(before.SequenceEqual(ticks) + " " + disposed + " " + Enumerable.Range(0, ticks.Length).Count(i => i % 2 == 0 && ticks[i] != 0));
    }

    private static async Task Delays()
    {
        using var source = new CancellationTokenSource();
        Task[] never = [.. Enumerable.Range(0, 1_000).Select(_ => Task.Delay(Timeout.Infinite, source.Token))];
        Task[] soon = [.. Enumerable.Range(0, 1_000).Select(i => Task.Delay(1 + (i % 4)))];
        await Task.WhenAll(soon);
        await source.CancelAsync();
        int cancelled = 0;
        foreach (Task task in never)
        {
            try
            {
                await task;
            }
            catch (TaskCanceledException exception)
            {
                cancelled += ReferenceEquals(exception.Task, task) && exception.CancellationToken == source.Token ? 1 : 0;
            }
        }
        Console.WriteLine(cancelled);
        foreach (Task task in soon)
        {
            task.Dispose();
            Manual.Delete(task);
        }
    }

    private static async Task Sources()
    {
        int callbacks = 0;
        var sources = new List<CancellationTokenSource>();
        using var root = new CancellationTokenSource();
        for (int i = 0; i < 500; i++)
        {
            CancellationTokenSource source = i % 3 == 0 ? CancellationTokenSource.CreateLinkedTokenSource(root.Token, sources.Count == 0 ? default : sources[^1].Token) : new CancellationTokenSource(TimeSpan.FromMilliseconds(i % 6));
            source.Token.UnsafeRegister(_ => Interlocked.Increment(ref callbacks), null);
            CancellationTokenRegistration gone = source.Token.Register(() => Interlocked.Add(ref callbacks, source.Token.CanBeCanceled ? 0 : 10_000));
            if (i % 2 == 0)
                gone.Dispose();
            sources.Add(source);
        }
        root.Cancel();
        while (Volatile.Read(ref callbacks) < sources.Count)
            await Task.Yield();
        Console.WriteLine(callbacks + " " + sources.All(source => source.IsCancellationRequested));
        foreach (CancellationTokenSource source in sources)
            source.Dispose();
        var reused = new CancellationTokenSource();
        int resets = 0;
        for (int i = 0; i < 200; i++)
        {
            reused.CancelAfter(100_000);
            resets += reused.TryReset() ? 1 : 0;
        }
        reused.Dispose();
        Console.WriteLine(resets);
    }

    private static async Task Periodic()
    {
        int[] counts = await Task.WhenAll(Enumerable.Range(0, 50).Select(async i =>
        {
            using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(1));
            int ticks = 0;
            while (await timer.WaitForNextTickAsync())
            {
                if (++ticks == 4)
                    timer.Dispose();
            }
            return ticks;
        }));
        Console.WriteLine(counts.Sum());
    }
}
