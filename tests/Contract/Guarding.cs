using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary><c>FREEHOLD_SAMPLE</c>: what it says of a guarded object, however that ends. With 1 every small object is one.</summary>
internal static class Guarding
{
    public static IEnumerable<Case> All()
    {
        yield return new("guarded-stacks", _ => Stacks());
        yield return new("guarded-sites", _ => Sites());
        yield return new("guarded-immediately", _ => Immediately());
        yield return new("guarded-double-delete", _ => DoubleDelete());
        yield return new("guarded-parts", _ => Parts());
        yield return new("guarded-all-and-graphs", _ => AllAndGraphs());
        yield return new("guarded-pinned", _ => Pinned());
        yield return new("guarded-reclaim", _ => Reclaimed());
        yield return new("guarded-scope", _ => EndOfScope());
        yield return new("guarded-threads", _ => Threads());
        yield return new("guarded-rate", _ => Rate());
    }

    private static void Stacks()
    {
        foreach (Func<object> make in new Func<object>[]
        {
            () => Make(5), () => new byte[100], () => new string('c', 7), () => new object?[6], () => new int[2, 3], () => (object)DateTime.UnixEpoch,
            () => new Func<int>(new Subject(7).Direct), () => Activator.CreateInstance(typeof(List<int>))!,
        })
        {
            object made = make();
            string type = made.GetType().ToString();
            Drop(made);
            DanglingReferenceException exception = Expect.Throws<DanglingReferenceException>(() => made.ToString());
            Expect.True(exception.Message.StartsWith($"The {type} that this reference leads to was deleted."), exception.Message);
            Expect.True(Section(exception.Message, "Allocated:").Contains(nameof(Stacks)), exception.Message);
            string deleted = Section(exception.Message, "Deleted:");
            Expect.True(deleted.Contains(nameof(Drop)) && !deleted.Contains("System.Heap."), exception.Message);
            Expect.True(exception.StackTrace!.Contains(".Guarding."), exception.StackTrace);
        }

        Expect.True(Heap.GetStatistics().GuardedCaught >= 8);
    }

    // The same code at the same depth of the stack, from one caller or the other, and with more or less of the stack in between: each tells its own.
    private static void Sites()
    {
        for (int i = 0; i < 400; i++)
        {
            bool first = i % 3 == 0;
            int room = i % 7 * 32;
            Subject victim = first ? First(room) : Second(room);
            string message = Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(victim.Value)).Message;
            foreach (string heading in new[] { "Allocated:", "Deleted:" })
            {
                string section = Section(message, heading);
                Expect.True(section.Contains(nameof(Between)) && section.Contains(nameof(Sites)), message);
                Expect.True(section.Contains(first ? nameof(First) : nameof(Second)) && !section.Contains(first ? nameof(Second) : nameof(First)), message);
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject First(int room)
    {
        Subject victim = Between(room);
        Expect.True(room >= 0);
        return victim;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject Second(int room)
    {
        Subject victim = Between(room);
        Expect.True(room >= 0);
        return victim;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject Between(int room)
    {
        Span<byte> between = stackalloc byte[room];
        between.Clear();
        Subject victim = Make(room);
        Drop(victim);
        Expect.Equal(room, between.Length);
        return victim;
    }

    private static void Immediately()
    {
        for (int i = 0; i < 3_000; i++)
        {
            var subject = new Subject(i);
            var neighbour = new Subject(-i);
            string text = "text" + i;
            Heap.Delete(subject);
            Heap.Delete(text);
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value));
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(text.Length));
            Expect.Equal(-i, neighbour.Value);
            Heap.Delete(neighbour);
        }

        Heap.Verify();
    }

    private static void DoubleDelete()
    {
        foreach (object victim in new object[] { new Subject(3), new string('x', 9), new byte[500] })
        {
            string type = victim.GetType().ToString();
            Drop(victim);
            for (int i = 0; i < 2; i++)
            {
                string message = Expect.Throws<DoubleDeleteException>(() => Heap.Delete(victim)).Message;
                Expect.True(message.StartsWith($"The {type} was deleted before."), message);
                Expect.True(Section(message, "Deleted:").Contains(nameof(Drop)), message);
                Expect.True(Section(message, "Allocated:").Contains(nameof(DoubleDelete)), message);
            }
        }
    }

    // What a list owns goes with it, and says who deleted the list.
    private static void Parts()
    {
        var list = new List<long> { 1, 2, 3 };
        ref long element = ref System.Runtime.InteropServices.CollectionsMarshal.AsSpan(list)[1];
        Drop(list);
        string message = "";
        try
        {
            GC.KeepAlive(element);
        }
        catch (DanglingReferenceException exception)
        {
            message = exception.Message;
        }

        Expect.True(message.StartsWith("The System.Int64[] that"), message);
        Expect.True(Section(message, "Deleted:").Contains(nameof(Drop)), message);
    }

    private static void AllAndGraphs()
    {
        var values = new List<Subject>();
        for (int i = 0; i < 50; i++)
            values.Add(new Subject(i));
        Subject some = values[20];
        Heap.DeleteAll(values);
        Expect.True(Section(Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(some.Value)).Message, "Deleted:").Contains(nameof(AllAndGraphs)));

        long taken = Heap.GetStatistics().GuardedObjects;
        var root = new Subject(1) { Link = new Subject(2) { Link = new Subject(3) } };
        Expect.True(Heap.GetStatistics().GuardedObjects >= taken + 3);
        Heap.DeleteGraph(root);
        Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(root.Value));
        Heap.Verify();
    }

    private static unsafe void Pinned()
    {
        for (int i = 0; i < 100; i++)
        {
            byte[] before = new byte[40], held = new byte[40], neighbour = new byte[40];
            fixed (byte* at = before)
                at[3] = 1;
            Heap.Delete(before);
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(before[1]));
            fixed (byte* at = held)
            {
                Heap.Delete(held);
                Heap.Delete(neighbour);
                at[39] = 7;
                Expect.Equal(7, at[39]);
                Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(neighbour[1]));
            }
        }
    }

    // Nobody can name what a reclaim deletes: it goes, and is counted.
    private static void Reclaimed()
    {
        const int Count = 1_000;
        for (int i = 0; i < 5; i++)
        {
            long taken = Heap.GetStatistics().GuardedObjects;
            Forget(Count);
            HeapStatistics before = Heap.GetStatistics();
            Expect.True(before.GuardedObjects >= taken + Count);
            Heap.Reclaim();
            long live = Heap.GetStatistics().GuardedLive;
            Expect.True(live <= before.GuardedLive - Count / 10 * 9, $"{before.GuardedLive}, {live}");
        }

        for (int i = 0; i < 20; i++)
        {
            Forget(Count);
            GC.Collect(i % 3);
        }

        Heap.Verify();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Forget(int count)
    {
        Subject? last = null;
        for (int i = 0; i < count; i++)
            last = new Subject(i) { Link = last };
        GC.KeepAlive(last);
    }

    private static void EndOfScope()
    {
        var kept = new Subject(1);
        for (int i = 0; i < 20; i++)
        {
            long live;
            using (Heap.Scope())
            {
                Forget(100);
                kept.Link = new Subject(i);
                live = Heap.GetStatistics().GuardedLive;
            }

            Expect.True(Heap.GetStatistics().GuardedLive <= live - 90);
            Expect.Equal(i, ((Subject)kept.Link).Value);
            Heap.Verify();
        }
    }

    private static void Threads()
    {
        const int Count = 4, Rounds = 2_000;
        var failures = new Exception?[Count];
        var threads = new Thread[Count];
        var shared = new Subject?[64];
        int caught = 0;
        for (int t = 0; t < Count; t++)
        {
            int number = t;
            threads[t] = new Thread(() =>
            {
                try
                {
                    var random = new Random(number);
                    for (int i = 0; i < Rounds; i++)
                    {
                        Subject? old = Interlocked.Exchange(ref shared[random.Next(shared.Length)], new Subject(i) { Link = new Subject(-i) });
                        if (old is null)
                            continue;
                        var link = (Subject)old.Link!;
                        int value = old.Value;
                        Heap.Delete(link);
                        Heap.Delete(old);
                        // As if alive, if its block was given up while it waited in the slot.
                        try
                        {
                            Expect.Equal(value, old.Value);
                        }
                        catch (DanglingReferenceException)
                        {
                            Interlocked.Increment(ref caught);
                        }

                        try
                        {
                            Heap.Delete(link);
                            Expect.True(false, "a second deletion");
                        }
                        catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
                        {
                        }
                    }
                }
                catch (Exception exception)
                {
                    failures[number] = exception;
                }
            });
        }

        foreach (Thread thread in threads)
            thread.Start();
        for (int i = 0; i < 20; i++)
        {
            Heap.Verify();
            Heap.Reclaim();
        }

        foreach (Thread thread in threads)
            thread.Join();
        foreach (Exception? failure in failures)
            Expect.True(failure is null, failure?.ToString());
        Expect.True(caught > 0);
    }

    // FREEHOLD_SAMPLE=1000: one in so many. The bounds are ten times what chance explains.
    private static void Rate()
    {
        const int Objects = 10_000_000, Rate = 1_000, Tolerance = 1_000;
        long before = Heap.GetStatistics().GuardedObjects;
        for (int i = 0; i < Objects / 2; i++)
        {
            Heap.Delete(Make(i));
            Heap.Delete(new object[3]);
        }

        long chosen = Heap.GetStatistics().GuardedObjects - before;
        Expect.True(Math.Abs(chosen - Objects / Rate) < Tolerance, $"{chosen} of {Objects}");
    }

    private static string Section(string message, string heading)
    {
        string[] lines = message.Split('\n');
        int start = Array.IndexOf(lines, heading);
        Expect.True(start > 0, message);
        return string.Join('\n', lines.Skip(start + 1).TakeWhile(line => line.StartsWith(' ')));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject Make(int value) => new(value);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Drop(object victim) => Heap.Delete(victim);
}
