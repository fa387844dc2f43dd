using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Point 10, and what the environment variables print. That each kind of use throws at once is checked by <see cref="Use{T}"/> in this mode.</summary>
internal static class Debugging
{
    public static IEnumerable<Case> All()
    {
        yield return new("nothing", _ => Heap.Delete(new object()));
        yield return new("debug-type", _ => TypeIsNamed());
        yield return new("debug-immediately", _ => Immediately());
        yield return new("debug-huge", _ => Huge());
        yield return new("debug-headers", _ => HeadersInUse());
        yield return new("debug-pinned-before", _ => PinnedBefore());
        yield return new("debug-double-delete", _ => DoubleDelete());
        yield return new("debug-stacks", _ => Stacks());
        yield return new("debug-stacks-of-kinds", _ => StacksOfKinds());
        yield return new("debug-stacks-in-handlers", _ => StacksInHandlers());
        yield return new("debug-stacks-of-finalizers", _ => StacksOfFinalizers());
        yield return new("debug-stacks-depth", _ => StackDepth());
        yield return new("debug-stacks-threads", _ => StacksOfThreads());
    }

    private static void TypeIsNamed()
    {
        Expect.True(DebugMode.IsOn);
        var subject = new Subject(4);
        Heap.Delete(subject);
        Named(nameof(Subject), () => Console.WriteLine(subject.Value));
        foreach (int length in new[] { 10, 200_000, 5_000_000 })
        {
            byte[] bytes = new byte[length];
            Heap.Delete(bytes);
            Named("Byte[]", () => Console.WriteLine(bytes[5]));
            Named("Byte[]", () => Console.WriteLine(bytes[length - 1]));
            Named("Byte[]", () => Array.Clear(bytes));
            Named("Byte[]", () => bytes.CopyTo(new byte[length], 0));
        }

        static void Named(string type, Action use)
        {
            DanglingReferenceException exception = Expect.Throws<DanglingReferenceException>(use);
            Expect.True(exception.Message.Contains(type), exception.Message);
            Expect.Equal(exception.Message, exception.Message);
            if (Environment.GetEnvironmentVariable("FREEHOLD_DEBUG") == "1")
                Expect.True(!exception.Message.Contains('\n'), exception.Message);
        }
    }

    private static void Immediately()
    {
        Expect.True(DebugMode.IsOn);
        for (int i = 0; i < 2_000; i++)
        {
            var subject = new Subject(i);
            var neighbour = new Subject(-i);
            string text = "text" + i;
            Heap.Delete(subject);
            Heap.Delete(text);
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value));
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(text.Length));
            Expect.Equal(-i, neighbour.Value);
        }
    }

    // Objects with blocks of their own, from the first byte to the last.
    private static void Huge()
    {
        Expect.True(DebugMode.IsOn);
        const int Length = 3_000_001;
        Throws(a => a[0]);
        Throws(a => a[Length - 1]);
        Throws(a => a[Length / 2] = 1);
        Throws(a => a.Length);
        Throws(a => a.Clone());
        Throws(a => a.AsSpan(0, Length).IndexOf((byte)9));
        Throws(a => { a.AsSpan(Length - 100, 100).Fill(1); return 0; });
        Throws(a => { Array.Copy(a, Length - 10, new byte[10], 0, 10); return 0; });
        Throws(a => { Array.Copy(new byte[10], 0, a, Length - 10, 10); return 0; });
        Throws(a => RuntimeHelpers.GetHashCode(a));
        Throws(a => a.GetType().Name);
        Throws(a => Is<IEnumerable<byte>>(a));
        Throws(a =>
        {
            lock (a)
                return 1;
        });

        [MethodImpl(MethodImplOptions.NoInlining)]
        static bool Is<T>(object value) => value is T;

        static void Throws(Func<byte[], object?> use)
        {
            byte[] bytes = new byte[Length];
            Expect.True(use(bytes) is not null);
            Heap.Delete(bytes);
            Expect.Throws<DanglingReferenceException>(() => use(bytes));
        }
    }

    // What the header held is gone with it: a hash code, a thin lock, an entry of the table of locks.
    private static void HeadersInUse()
    {
        Expect.True(DebugMode.IsOn);
        Throws(s => _ = RuntimeHelpers.GetHashCode(s), s => RuntimeHelpers.GetHashCode(s));
        Throws(s => _ = s.GetHashCode(), s => s.GetHashCode());
        Throws(Lock, Lock);
        Throws(Contend, Lock);
        Throws(Monitor.Enter, Monitor.Exit);
        Throws(Monitor.Enter, Monitor.Pulse);
        Throws(Monitor.Enter, s => Monitor.Wait(s, 1));
        // The deletion waits for a lock of the table that is held.
        var held = new DerivedSubject(3);
        Contend(held);
        Monitor.Enter(held);
        Heap.Delete(held);
        Monitor.Exit(held);
        Throws(_ => { }, s => Monitor.IsEntered(s));
        Throws(_ => { }, GC.SuppressFinalize);

        static void Lock(object s)
        {
            lock (s)
                GC.KeepAlive(s);
        }

        static void Throws(Action<object> before, Action<object> use)
        {
            var subject = new DerivedSubject(3);
            before(subject);
            Heap.Delete(subject);
            for (int i = 0; i < 2; i++)
                Expect.Throws<DanglingReferenceException>(() => use(subject));
        }

        static void Contend(object s)
        {
            using var held = new ManualResetEventSlim();
            var thread = new Thread(() =>
            {
                lock (s)
                {
                    held.Set();
                    Thread.Sleep(20);
                }
            });
            thread.Start();
            held.Wait();
            Lock(s);
            thread.Join();
        }
    }

    // Nothing tells when a thread unpins: the deletion has to find out.
    private static unsafe void PinnedBefore()
    {
        Expect.True(DebugMode.IsOn);
        foreach (int length in new[] { 40, 9_000, 200_000, 3_000_000 })
        {
            Gone(length, Fixed);
            Gone(length, a =>
            {
                GCHandle handle = GCHandle.Alloc(a, GCHandleType.Pinned);
                handle.Free();
            });
            Gone(length, a => new MemoryStream().Write(a));
            Gone(length, a =>
            {
                using FileStream file = File.OpenWrite("/dev/null");
                file.Write(a);
            });

            // While it is pinned its memory stays, deleted or not.
            byte[] held = new byte[length], neighbour = new byte[length];
            fixed (byte* at = held)
            {
                Heap.Delete(held);
                Fixed(neighbour);
                Heap.Delete(neighbour);
                at[length - 1] = 7;
                Expect.Equal(7, at[length - 1]);
                Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(neighbour[1]));
            }
        }

        static void Gone(int length, Action<byte[]> before)
        {
            byte[] bytes = new byte[length];
            before(bytes);
            Heap.Delete(bytes);
            Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(bytes[length - 1]));
            Expect.Throws<DanglingReferenceException>(() => bytes[0] = 1);
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Fixed(byte[] bytes)
        {
            fixed (byte* at = bytes)
                at[3] = 1;
        }
    }

    private static void DoubleDelete()
    {
        Expect.True(DebugMode.IsOn);
        foreach (object victim in new object[] { new Subject(3), new string('x', 9), new byte[50_000], new long[1_000_000] })
        {
            string type = victim.GetType().ToString();
            Drop(victim);
            for (int i = 0; i < 2; i++)
            {
                string message = Expect.Throws<DoubleDeleteException>(() => Heap.Delete(victim)).Message;
                Expect.True(message.StartsWith($"The {type} was deleted before."), message);
                if (TakesStacks)
                    Expect.True(Section(message, "Deleted:").Contains(nameof(Drop)), message);
            }
        }
    }

    private static void Stacks()
    {
        Subject subject = Make(5);
        Drop(subject);
        DanglingReferenceException exception = Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value));
        string[] lines = exception.Message.Split('\n');
        Expect.Equal("The Freehold.Contract.Subject that this reference leads to was deleted.", lines[0]);
        string allocated = Section(exception.Message, "Allocated:"), deleted = Section(exception.Message, "Deleted:");
        Expect.True(allocated.Contains(".Debugging.Make("), allocated);
        Expect.True(!allocated.Contains(".Debugging.Drop("), allocated);
        Expect.True(deleted.Contains(".Debugging.Drop("), deleted);
        Expect.True(!deleted.Contains(".Debugging.Make("), deleted);
        // Each frame as in the exception's own trace, but for the indentation, and as far out.
        foreach (string section in new[] { allocated, deleted })
        {
            Expect.True(section.Split('\n').All(line => line.StartsWith("      at ")), section);
            Expect.True(section.Contains(".Debugging.Stacks(") && section.Contains(".Program.Main("), section);
        }
        Expect.True(exception.StackTrace!.Contains(".Debugging."), exception.StackTrace);
        Expect.True(!deleted.Contains("System.Heap."), deleted);
    }

    private static void StacksOfKinds()
    {
        Is(() => new Subject(1));
        Is(() => new byte[5]);
        Is(() => new byte[100_000]);
        Is(() => new byte[3_000_000]);
        Is(() => new string('c', 7));
        Is(() => new object?[6]);
        Is(() => new int[2, 3]);
        Is(() => (object)DateTime.UnixEpoch);
        Is(() => new Func<int>(new Subject(7).Direct));
        Is(() => GC.AllocateUninitializedArray<byte>(90_000));
        Is(() => GC.AllocateArray<byte>(40, pinned: true));
        Is(() => "text".Clone() is string s ? s + s.Length : null!);
        Is(() => Activator.CreateInstance(typeof(List<int>))!);

        // Where it was made is in the lambda, or in what the lambda calls.
        static void Is(Func<object> make)
        {
            object made = make();
            Drop(made);
            string message = Expect.Throws<DanglingReferenceException>(() => made.ToString()).Message;
            Expect.True(Section(message, "Allocated:").Contains(nameof(StacksOfKinds)), message);
            Expect.True(Section(message, "Deleted:").Contains(nameof(Drop)), message);
        }
    }

    // A handler runs on top of the frames of the throw; none of those is where it allocates.
    private static void StacksInHandlers()
    {
        Subject? caught = null, last = null, filtered = null;
        try
        {
            try
            {
                Fail(0);
            }
            catch (FormatException e) when ((filtered = Make(e.Message.Length)) is not null)
            {
                caught = Make(1);
                Drop(filtered);
                Drop(caught);
            }
            Fail(3);
        }
        catch (FormatException)
        {
        }
        finally
        {
            last = Make(2);
            Drop(last);
        }
        foreach (Subject subject in new[] { caught!, last!, filtered! })
        {
            string message = Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value)).Message;
            foreach ((string what, string who) in new[] { ("Allocated:", nameof(Make)), ("Deleted:", nameof(Drop)) })
            {
                string section = Section(message, what);
                Expect.True(section.Contains(who) && section.Contains(nameof(StacksInHandlers)) && section.Contains(".Main("), message);
            }
        }
    }

    private static void StacksOfFinalizers()
    {
        var child = new Subject(9);
        var owner = new Owner { Child = child };
        Drop(owner);
        string message = Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(child.Value)).Message;
        string deleted = Section(message, "Deleted:");
        Expect.True(deleted.Contains("Owner.Finalize") && deleted.Contains(nameof(Drop)), message);
        message = Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(owner.Child)).Message;
        Expect.True(Section(message, "Deleted:").Contains(nameof(Drop)), message);
    }

    private static void StackDepth()
    {
        Subject subject = Deep(200);
        Drop(subject);
        string allocated = Section(Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value)).Message, "Allocated:");
        Expect.Equal(32, allocated.Split('\n').Length);
        Expect.True(allocated.Contains(nameof(Make)) && allocated.Contains(nameof(Deep)), allocated);
    }

    private static void StacksOfThreads()
    {
        const int Threads = 6, Rounds = 300;
        var failures = new Exception?[Threads];
        var threads = new Thread[Threads];
        for (int t = 0; t < Threads; t++)
        {
            int number = t;
            threads[t] = new Thread(() =>
            {
                try
                {
                    for (int i = 0; i < Rounds; i++)
                    {
                        Subject subject = Deep((i + number) % 20);
                        Drop(subject);
                        if (i % 8 != 0)
                            continue;
                        string message = Expect.Throws<DanglingReferenceException>(() => GC.KeepAlive(subject.Value)).Message;
                        Expect.True(Section(message, "Allocated:").Split('\n').Count(line => line.Contains(nameof(Deep))) == (i + number) % 20 + 1, message);
                        Expect.True(Section(message, "Deleted:").Contains(nameof(Drop)), message);
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
        // Suspensions hijack return addresses while the stacks are walked.
        for (int i = 0; i < 20; i++)
        {
            Heap.Verify();
            Thread.Sleep(5);
        }
        foreach (Thread thread in threads)
            thread.Join();
        foreach (Exception? failure in failures)
            Expect.True(failure is null, failure?.ToString());
    }

    private static bool TakesStacks => Environment.GetEnvironmentVariable("FREEHOLD_DEBUG") == "stacks";

    // The frames behind a heading of the message.
    private static string Section(string message, string heading)
    {
        Expect.True(TakesStacks);
        string[] lines = message.Split('\n');
        int start = Array.IndexOf(lines, heading);
        Expect.True(start > 0, message);
        return string.Join('\n', lines.Skip(start + 1).TakeWhile(line => line.StartsWith(' ')));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject Make(int value) => new(value);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Drop(object victim) => Heap.Delete(victim);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Fail(int value) => throw new FormatException(value.ToString());

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Subject Deep(int depth)
    {
        Subject subject = depth == 0 ? Make(depth) : Deep(depth - 1);
        Expect.True(subject.Value == 0);
        return subject;
    }

    private sealed class Owner
    {
        public Subject? Child;

        ~Owner() => Heap.Delete(Child);
    }
}
