using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Points 2 and 8: locks, conditions and hash codes of objects that are deleted while other threads are at them. Every thread ends.</summary>
internal static class LockingOfDeleted
{
    private static readonly TimeSpan s_deadline = TimeSpan.FromSeconds(120);

    private sealed class Small
    {
        public long Count;
    }

    public static IEnumerable<Case> All()
    {
        yield return new("lock-deleted-held", _ => Held());
        yield return new("lock-deleted-meanwhile", arguments => Meanwhile(arguments is [string rounds] ? int.Parse(rounds) : 200));
    }

    // The holder needs the header to let go, and the others need the holder to do so. Memory of a large object would go at once; so would that of any object in debug mode.
    private static void Held()
    {
        foreach (Func<object> create in (Func<object>[])[() => new byte[2_000_000], () => new byte[60_000], () => new Small()])
        {
            foreach (Action<object> delete in (Action<object>[])[Heap.Delete, o => Heap.DeleteGraph(o)])
            {
                foreach (Action<object> enter in (Action<object>[])[Monitor.Enter, o => Expect.True(Monitor.TryEnter(o, s_deadline))])
                    HeldAndWaitedFor(create(), enter, delete);
                WaitedForInVain(create(), delete);
                WaitedForInVain(create(), gate =>
                {
                    lock (gate)
                        delete(gate);
                });
            }
        }
    }

    private static void HeldAndWaitedFor(object gate, Action<object> enter, Action<object> delete)
    {
        using var inside = new ManualResetEventSlim();
        using var go = new ManualResetEventSlim();
        Exception? failure = null;
        Thread holder = Start(() =>
        {
            lock (gate)
            {
                inside.Set();
                go.Wait();
            }
        });
        inside.Wait();
        Thread waiter = Start(() =>
        {
            enter(gate);
            Monitor.Exit(gate);
        });
        UntilItWaits(waiter);
        delete(gate);
        Expect.Throws<DoubleDeleteException>(() => Heap.Delete(gate));
        Expect.Throws<DoubleDeleteException>(() => Heap.DeleteGraph(gate));
        go.Set();
        Expect.True(holder.Join(s_deadline), "the holder ends");
        Expect.True(waiter.Join(s_deadline), "the waiter ends");
        Expect.True(failure is null, $"{failure}");
        DeletedAtLast(gate);

        Thread Start(Action action)
        {
            var thread = new Thread(() =>
            {
                try
                {
                    action();
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
            return thread;
        }
    }

    // Nobody pulses a deleted object.
    private static void WaitedForInVain(object gate, Action<object> delete)
    {
        Exception? failure = null;
        var thread = new Thread(() =>
        {
            try
            {
                lock (gate)
                    Monitor.Wait(gate);
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
        UntilItWaits(thread);
        delete(gate);
        Expect.True(thread.Join(s_deadline), "who waits ends");
        Expect.True(failure is null, $"{failure}");
        DeletedAtLast(gate);
    }

    private static void UntilItWaits(Thread thread)
    {
        while ((thread.ThreadState & ThreadState.WaitSleepJoin) == 0)
            Thread.Yield();
    }

    // The next deletion of an object with a lock looks whether others are free.
    private static void DeletedAtLast(object gate)
    {
        for (int i = 0; i < 8; i++)
            Heap.Delete(Inflated(withHash: true));
        bool thrown = false;
        try
        {
            Heap.Delete(gate);
        }
        catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
        {
            thrown = true;
        }
        Expect.True(thrown);
    }

    private static object Inflated(bool withHash)
    {
        var inflated = new Small();
        if (withHash)
            RuntimeHelpers.GetHashCode(inflated);
        int times = withHash ? 1 : 70;
        for (int i = 0; i < times; i++)
            Monitor.Enter(inflated);
        for (int i = 0; i < times; i++)
            Monitor.Exit(inflated);
        return inflated;
    }

    // One thread uses the object's lock or hash code, another deletes it at the same time.
    private static void Meanwhile(int rounds)
    {
        Action<object, int>[] uses =
        [
            (o, _) => { lock (o) { } },
            (o, _) => { if (Monitor.TryEnter(o)) Monitor.Exit(o); },
            (o, _) => { if (Monitor.TryEnter(o, 1)) Monitor.Exit(o); },
            (o, _) => Expect.True(!Monitor.IsEntered(o)),
            (o, hash) => Expect.True(hash == 0 ? RuntimeHelpers.GetHashCode(o) != 0 : RuntimeHelpers.GetHashCode(o) == hash, "the hash code is the object's own"),
            (o, _) => { lock (o) Monitor.PulseAll(o); },
        ];
        foreach (Action<object, int> use in uses)
        {
            foreach (Func<object> create in (Func<object>[])[() => new Small(), () => Inflated(withHash: false), () => Inflated(withHash: true)])
                Meanwhile(rounds, create, use);
        }
        Fresh();
    }

    private static void Meanwhile(int rounds, Func<object> create, Action<object, int> use)
    {
        object? subject = null;
        int hash = 0, begun = 0, done = 0;
        Exception? failure = null;
        var user = new Thread(() =>
        {
            for (int round = 1; round <= rounds; round++)
            {
                Until(ref begun, round);
                try
                {
                    use(subject!, hash);
                }
                catch (DanglingReferenceException)
                {
                }
                catch (Exception exception)
                {
                    failure ??= exception;
                }
                Volatile.Write(ref done, round);
            }
        });
        user.Start();
        for (int round = 1; round <= rounds; round++)
        {
            subject = create();
            hash = round % 2 == 0 ? RuntimeHelpers.GetHashCode(subject) : 0;
            // Lives on: its entry of the table may be the one that the last round gave back.
            object bystander = Inflated(withHash: round % 3 == 0);
            Monitor.Enter(bystander);
            Volatile.Write(ref begun, round);
            if (round % 4 == 0)
                Thread.SpinWait(round % 64);
            Heap.Delete(subject);
            object other = Inflated(withHash: true);
            lock (other)
            {
                Until(ref done, round);
                Expect.True(Monitor.IsEntered(other));
            }
            Monitor.Exit(bystander);
            Heap.Delete(other);
            Heap.Delete(bystander);
            Expect.True(failure is null, $"round {round}: {failure}");
        }
        Expect.True(user.Join(s_deadline));
    }

    private static void Until(ref int word, int value)
    {
        for (int i = 0; Volatile.Read(ref word) < value; i++)
        {
            if (i % 64 == 63)
                Thread.Yield();
        }
    }

    // The table of locks is whole.
    private static void Fresh()
    {
        var objects = new Small[1_000];
        for (int i = 0; i < objects.Length; i++)
            objects[i] = (Small)Inflated(withHash: i % 2 == 0);
        foreach (Small inflated in objects)
        {
            int hash = RuntimeHelpers.GetHashCode(inflated);
            lock (inflated)
            {
                inflated.Count++;
                Expect.Equal(hash, RuntimeHelpers.GetHashCode(inflated));
            }
            Expect.True(!Monitor.IsEntered(inflated));
        }
        foreach (Small inflated in objects)
            Heap.Delete(inflated);
    }
}
