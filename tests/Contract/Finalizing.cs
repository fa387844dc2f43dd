using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Finalizers that deletions run, and that meddle with the deletion: it ends the object's life once, whatever they do.</summary>
internal static class Finalizing
{
    public static IEnumerable<Case> All()
    {
        yield return new("finalizer-registers-again", _ => RegistersAgain());
        yield return new("finalizer-deletes-itself", _ => DeletesItself());
        yield return new("finalizer-deletes-itself-then-throws", _ => DeletesItselfThenThrows());
        yield return new("finalizer-in-a-circle", _ => InACircle());
        yield return new("finalizer-with-a-lock", _ => WithALock());
        yield return new("finalizer-while-others-delete", _ => WhileOthersDelete());
        yield return new("finalizer-on-its-own-thread", _ => OnItsOwnThread());
    }

    private sealed class Again
    {
        public static int Runs;

        ~Again()
        {
            Runs++;
            GC.ReRegisterForFinalize(this);
        }
    }

    private static void RegistersAgain()
    {
        for (int i = 1; i <= 1_000; i++)
        {
            var again = new Again();
            if (i % 3 == 0)
                _ = RuntimeHelpers.GetHashCode(again);
            Heap.Delete(again);
            Expect.Equal(i, Again.Runs);
            Expect.SecondDeleteThrows(again);
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Expect.Equal(1_000, Again.Runs);
    }

    private class Self
    {
        public static int Runs;
        public int Value = 5;

        ~Self()
        {
            Runs++;
            Heap.Delete(this);
            Heap.Delete(this);
            Heap.Compact();
            // The deletion that runs this is not over: the object is still there.
            Expect.Equal(5, Value);
            GC.ReRegisterForFinalize(this);
            Heap.Delete(this);
        }
    }

    private sealed class DerivedSelf : Self
    {
        ~DerivedSelf() => Heap.Delete(this);
    }

    private static void DeletesItself()
    {
        for (int i = 1; i <= 200; i++)
        {
            Self self = i % 2 == 0 ? new Self() : new DerivedSelf();
            Heap.Delete(self);
            Expect.Equal(i, Self.Runs);
            Expect.SecondDeleteThrows(self);
        }
    }

    private sealed class Failing
    {
        public static int Runs;

        ~Failing()
        {
            Runs++;
            Heap.Delete(this);
            throw new FormatException("on purpose");
        }
    }

    // An exception leaves the object undeleted, whatever its finalizer has deleted before.
    private static void DeletesItselfThenThrows()
    {
        for (int i = 1; i <= 200; i++)
        {
            var failing = new Failing();
            Expect.Throws<FormatException>(() => Heap.Delete(failing));
            Heap.Delete(failing);
            Expect.Equal(i, Failing.Runs);
            Expect.SecondDeleteThrows(failing);
        }
    }

    private sealed class Linked
    {
        public static int Runs;
        public Linked? Next;

        ~Linked()
        {
            Runs++;
            Heap.Delete(Next);
        }
    }

    // Each deletes the next, and the last one the first.
    private static void InACircle()
    {
        for (int length = 1; length <= 100; length++)
        {
            var links = new Linked[length];
            for (int i = 0; i < length; i++)
                links[i] = new Linked();
            for (int i = 0; i < length; i++)
                links[i].Next = links[(i + 1) % length];
            Linked.Runs = 0;
            Heap.Delete(links[length / 2]);
            Expect.Equal(length, Linked.Runs);
            foreach (Linked link in links)
                Expect.SecondDeleteThrows(link);
        }
    }

    private sealed class Locking
    {
        ~Locking()
        {
            _ = RuntimeHelpers.GetHashCode(this);
            lock (this)
                Heap.Delete(this);
            GC.ReRegisterForFinalize(this);
        }
    }

    private static void WithALock()
    {
        for (int i = 0; i < 1_000; i++)
        {
            var locking = new Locking();
            Heap.Delete(locking);
            Expect.SecondDeleteThrows(locking);
        }
    }

    private sealed class Slow
    {
        public static Barrier Both = new(2);

        ~Slow()
        {
            Both.SignalAndWait();  // the other deletes
            Both.SignalAndWait();  // and has deleted
        }
    }

    // One of two threads that delete the same object is told, also when the other one runs its finalizer at the moment.
    private static void WhileOthersDelete()
    {
        for (int i = 0; i < 200; i++)
        {
            var slow = new Slow();
            int failures = 0;
            var other = new Thread(() =>
            {
                Slow.Both.SignalAndWait();
                Delete();
                Slow.Both.SignalAndWait();
            });
            other.Start();
            Delete();
            other.Join();
            Expect.Equal(1, failures);

            void Delete()
            {
                try
                {
                    Heap.Delete(slow);
                }
                catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
                {
                    Interlocked.Increment(ref failures);
                }
            }
        }
    }

    private sealed class Lost
    {
        public static int Runs;

        ~Lost()
        {
            Runs++;
            Heap.Delete(this);
        }
    }

    // No deletion runs the finalizer of what was forgotten: the one in the finalizer is the only one.
    private static void OnItsOwnThread()
    {
        var thread = new Thread(() =>
        {
            for (int i = 0; i < 1_000; i++)
                GC.KeepAlive(new Lost());
        });
        thread.Start();
        thread.Join();
        for (int i = 0; i < 3; i++)
        {
            Heap.Reclaim();
            GC.WaitForPendingFinalizers();
        }
        Expect.Equal(1_000, Lost.Runs);
        Expect.True(Heap.FindUnreachable().All(found => found.Type != typeof(Lost)));
    }
}
