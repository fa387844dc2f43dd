namespace Freehold.Differential.Programs;

/// <summary>Reader-writer locks, semaphores, barriers, events, mutexes, spin locks.</summary>
internal static partial class SynchronizationPrimitives
{
    public static void Run()
    {
        var values = new Dictionary<int, string>();
        using var guard = new ReaderWriterLockSlim(LockRecursionPolicy.SupportsRecursion);
        long read = 0;
        Parallel.For(0, 4_000, new ParallelOptions { MaxDegreeOfParallelism = 6 }, i =>
        {
            if (i % 4 == 0)
            {
                guard.EnterWriteLock();
                values[i] = "v" + i;
                guard.ExitWriteLock();
            }
            else
            {
                guard.EnterUpgradeableReadLock();
                Interlocked.Add(ref read, values.TryGetValue(i, out string? value) ? value.Length : 0);
                guard.ExitUpgradeableReadLock();
            }
        });
        Console.WriteLine(values.Count + " " + read);
        using var semaphore = new SemaphoreSlim(3);
        int inside = 0, most = 0, total = 0;
        Task.WaitAll([.. Enumerable.Range(0, 60).Select(_ => Task.Run(async () =>
        {
            await semaphore.WaitAsync();
            int now = Interlocked.Increment(ref inside);
            InterlockedMax(ref most, now);
            await Task.Yield();
            Interlocked.Increment(ref total);
            Interlocked.Decrement(ref inside);
            semaphore.Release();
        }))]);
        Console.WriteLine(total + " " + (most <= 3));
        int[] phases = new int[5];
        int completed = 0;
        using (var barrier = new Barrier(5, b => Interlocked.Add(ref completed, phases.Distinct().Count() == 1 ? 1 : 100)))
        {
            Thread[] threads = [.. Enumerable.Range(0, 5).Select(id => new Thread(() =>
            {
                for (int i = 0; i < 50; i++)
                {
                    phases[id]++;
                    barrier.SignalAndWait();
                }
            }))];
            Array.ForEach(threads, thread => thread.Start());
            Array.ForEach(threads, thread => thread.Join());
            Console.WriteLine(completed + " " + barrier.CurrentPhaseNumber);
        }
        using var auto = new AutoResetEvent(false);
        using var manual = new ManualResetEvent(false);
        int passed = 0;
        Thread[] waiters = [.. Enumerable.Range(0, 8).Select(_ => new Thread(() =>
        {
            manual.WaitOne();
            auto.WaitOne();
            passed++;
            auto.Set();
        }))];
        Array.ForEach(waiters, thread => thread.Start());
        manual.Set();
        auto.Set();
        Array.ForEach(waiters, thread => thread.Join());
        Console.WriteLine(passed + " " + WaitHandle.WaitAny([auto, manual], 100));
        using var mutex = new Mutex();
        var spin = new SpinLock();
        int sum = 0;
        Parallel.For(0, 2_000, i =>
        {
            if (i % 2 == 0)
            {
                mutex.WaitOne();
                Interlocked.Increment(ref sum);
                mutex.ReleaseMutex();
            }
            else
            {
                bool taken = false;
                spin.Enter(ref taken);
                Interlocked.Increment(ref sum);
                spin.Exit();
            }
        });
        Console.WriteLine(sum);
        using var countdown = new CountdownEvent(100);
        for (int i = 0; i < 100; i++)
            ThreadPool.QueueUserWorkItem(_ => countdown.Signal());
        Console.WriteLine(countdown.Wait(Timeout.Infinite));
        var registered = new ManualResetEventSlim();
        ThreadPool.RegisterWaitForSingleObject(manual, (_, timedOut) => registered.Set(), null, 20_000, executeOnlyOnce: true);
        Console.WriteLine(registered.Wait(Timeout.Infinite));
    }

    private static void InterlockedMax(ref int target, int value)
    {
        for (int old = Volatile.Read(ref target); value > old; old = Volatile.Read(ref target))
            Interlocked.CompareExchange(ref target, value, old);
    }
}
