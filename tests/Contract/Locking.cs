using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>
/// Points 5 and 8: locks and hash codes of objects that live while everything around them dies and they move themselves. More threads than processors, so
/// that some are held up anywhere on the way to an object's header. Bounded by the work, not by the clock.
/// </summary>
internal static class Locking
{
    private sealed class Counter
    {
        public long Count;
        public Counter? Successor;
    }

    public static IEnumerable<Case> All()
    {
        yield return new("lock-inflated", arguments => Inflated(Number(arguments, 4), collect: false));
        yield return new("lock-inflated-collect", arguments => Inflated(Number(arguments, 4), collect: true));
        yield return new("lock-contended", arguments => Contended(Number(arguments, 5), collect: false));
        yield return new("lock-contended-collect", arguments => Contended(Number(arguments, 5), collect: true));
        yield return new("lock-deleted-waited-for", _ => DeletedWhileWaitedFor());
        yield return new("lock-deleted-pulsed", _ => DeletedWhenPulsed());
    }

    // Who was pulsed has yet to take the lock again: it must be the one that there is then, and is let go of without an error.
    private static void DeletedWhenPulsed()
    {
        const int Rounds = 300;
        for (int round = 0; round < Rounds; round++)
        {
            var waitedFor = new Counter();
            using var locked = new ManualResetEventSlim();
            Exception? failure = null;
            bool woken = false;
            var thread = new Thread(() =>
            {
                try
                {
                    lock (waitedFor)
                    {
                        locked.Set();
                        woken = Monitor.Wait(waitedFor, 60_000);
                    }
                }
                catch (DanglingReferenceException)
                {
                }
                catch (Exception exception)
                {
                    failure = exception;
                }
            });
            thread.Start();
            locked.Wait();
            lock (waitedFor)
            {
                if (round % 2 == 0)
                    Monitor.Pulse(waitedFor);
                else
                    Monitor.PulseAll(waitedFor);
                // In two rounds of three while the woken thread stands before the lock.
                if (round % 3 != 0)
                    Thread.Yield();
            }
            Heap.Delete(waitedFor);
            thread.Join();
            Expect.True(failure is null, $"round {round}: {failure}");
            Expect.True(woken);
        }
    }

    // A pulse that reaches nobody would leave the other thread waiting for ever. It has its lock until it lets go of it.
    private static void DeletedWhileWaitedFor()
    {
        foreach (Action<object> use in (Action<object>[])[Monitor.Pulse, Monitor.PulseAll, o => Monitor.Wait(o, 0)])
        {
            var waitedFor = new Counter();
            using var locked = new ManualResetEventSlim();
            var thread = new Thread(() =>
            {
                try
                {
                    lock (waitedFor)
                    {
                        locked.Set();
                        Monitor.Wait(waitedFor);
                    }
                }
                catch (DanglingReferenceException)
                {
                }
            });
            thread.Start();
            locked.Wait();
            // It is free once the thread waits.
            lock (waitedFor)
                waitedFor.Count++;
            Heap.Delete(waitedFor);
            // As if it were not deleted, or not at all.
            try
            {
                lock (waitedFor)
                    use(waitedFor);
            }
            catch (DanglingReferenceException)
            {
            }
            Expect.True(thread.Join(60_000), "who waited ends");
        }
    }

    private static int Number(string[] arguments, int otherwise) => arguments is [string number] ? int.Parse(number) : otherwise;

    // A hash code and a lock on one object: its header becomes an index into the table of locks, whose own lock is contended.
    private static void Inflated(int rounds, bool collect) => Run(8, collect, _ =>
    {
        const int Objects = 4_000, Garbage = 3;
        for (int round = 0; round < rounds; round++)
        {
            var kept = new Counter[Objects];
            var garbage = new Counter[Objects * Garbage];
            for (int i = 0; i < Objects; i++)
            {
                kept[i] = new Counter();
                for (int j = 0; j < Garbage; j++)
                    garbage[i * Garbage + j] = new Counter();
            }
            foreach (Counter counter in garbage)
                Heap.Delete(counter);
            Heap.Delete(garbage);
            foreach (Counter counter in kept)
            {
                int hash = RuntimeHelpers.GetHashCode(counter);
                lock (counter)
                {
                    counter.Count++;
                    Expect.True(Monitor.IsEntered(counter));
                }
                Expect.True(!Monitor.IsEntered(counter));
                Expect.Equal(hash, RuntimeHelpers.GetHashCode(counter));
            }
            foreach (Counter counter in kept)
            {
                Expect.Equal(1, counter.Count);
                Heap.Delete(counter);
            }
            Heap.Delete(kept);
        }
        return 0;
    });

    // Counters that all threads lock, while one replaces them by others: no count is lost.
    private static void Contended(int rounds, bool collect)
    {
        const int Objects = 2_000, Locks = 1_000, Garbage = 10;
        var counters = new Counter[Objects];
        for (int i = 0; i < Objects; i++)
            counters[i] = new Counter();
        long counted = Run(24, collect, seed =>
        {
            var random = new Random(seed);
            for (int i = 0; i < rounds * Locks; i++)
                Increment(counters[random.Next(Objects)]);
            return rounds * Locks;
        }, Replace);
        long sum = 0;
        foreach (Counter counter in counters)
            sum += counter.Count;
        Expect.Equal(counted, sum);

        void Replace()
        {
            var garbage = new List<object>();
            for (int i = 0; i < Objects; i++)
            {
                var successor = new Counter();
                for (int j = 0; j < Garbage; j++)
                    garbage.Add(new Counter());
                Counter counter = counters[i];
                lock (counter)
                {
                    successor.Count = counter.Count;
                    counter.Successor = successor;
                }
                counters[i] = successor;
            }
            foreach (object counter in garbage)
                Heap.Delete(counter);
            Heap.Delete(garbage);
        }
    }

    private static void Increment(Counter counter)
    {
        while (true)
        {
            lock (counter)
            {
                if (counter.Successor is null)
                {
                    counter.Count++;
                    return;
                }
            }
            counter = counter.Successor;
        }
    }

    /// <summary>Runs the work in threads, with their numbers, and something beside them until they are done; the sum of what they return.</summary>
    private static long Run(int threads, bool collect, Func<int, long> work, Action? beside = null)
    {
        long sum = 0;
        int running = threads;
        Exception? failure = null;
        var started = new Thread[threads];
        for (int i = 0; i < threads; i++)
        {
            int number = i;
            started[i] = new Thread(() =>
            {
                try
                {
                    Interlocked.Add(ref sum, work(number));
                }
                catch (Exception exception)
                {
                    failure = exception;
                }
                Interlocked.Decrement(ref running);
            });
            started[i].Start();
        }
        while (Volatile.Read(ref running) > 0)
        {
            beside?.Invoke();
            if (collect)
                GC.Collect();
            else
                Thread.Sleep(5);
        }
        foreach (Thread thread in started)
            thread.Join();
        if (failure is not null)
            throw new ContractException($"a thread failed: {failure}");
        return sum;
    }
}
