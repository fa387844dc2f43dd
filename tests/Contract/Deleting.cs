using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Delete itself: null, twice, what is not deletable, finalizers, pins.</summary>
internal static partial class Deleting
{
    // Built at compile time: a frozen object in the executable.
    private static readonly object s_frozen = new();
    private static readonly int[] s_frozenArray = [1, 2, 3];

    public static IEnumerable<Case> All()
    {
        yield return new("delete-null", _ => Null());
        yield return new("delete-twice", _ => Twice());
        yield return new("delete-twice-threads", _ => TwiceByThreads());
        yield return new("delete-undeletable", _ => Undeletable());
        yield return new("delete-keeps-hash", _ => KeepsHash());
        yield return new("delete-kinds", _ => Kinds());
        yield return new("delete-nothing-else", _ => NothingElse());
        yield return new("delete-zeroed", _ => Zeroed());
        yield return new("finalizer-once", _ => FinalizerOnce());
        yield return new("finalizer-suppressed", _ => FinalizerSuppressed());
        yield return new("finalizer-throws", _ => FinalizerThrows());
        yield return new("finalizer-deletes", _ => FinalizerDeletes());
        yield return new("finalizer-resurrects", _ => FinalizerResurrects());
        yield return new("finalizer-inherited", _ => FinalizerInherited());
        yield return new("lock-held", _ => LockHeld());
        yield return new("lock-waited", _ => LockWaited());
        yield return new("pin-handle", _ => PinnedByHandle());
        yield return new("pin-fixed", _ => PinnedByFixed());
        yield return new("pin-native-call", _ => PinnedByNativeCall());
        yield return new("statistics", _ => Statistics());
    }

    private static void Null()
    {
        for (int i = 0; i < 1_000; i++)
            Heap.Delete(null);
    }

    private static void Twice()
    {
        var subject = new Subject(1);
        Heap.Delete(subject);
        Expect.SecondDeleteThrows(subject);
        Expect.SecondDeleteThrows(subject);
        Subject gone = Neighbours<Subject>.Gone(i => new Subject(i), 120);
        for (int i = 0; i < 3; i++)
            Expect.SecondDeleteThrows(gone);
        byte[] large = new byte[1_000_000];
        Heap.Delete(large);
        Expect.SecondDeleteThrows(large);
        var hashed = new object();
        _ = RuntimeHelpers.GetHashCode(hashed);
        lock (hashed)
            Heap.Verify();
        Heap.Delete(hashed);
        Expect.SecondDeleteThrows(hashed);
        object boxed = 5;
        Heap.Delete(boxed);
        Expect.SecondDeleteThrows(boxed);
        Expect.True(new DoubleDeleteException() is InvalidOperationException);
    }

    // Point 3: a race between two deletes may go unreported; it must stay harmless, and one of them must succeed.
    private static void TwiceByThreads()
    {
        const int count = 20_000;
        var objects = new object[count];
        int[] deleted = new int[count];
        for (int i = 0; i < count; i++)
            objects[i] = i % 2 == 0 ? new Subject(i) : new int[i % 40];
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(id => new Thread(() =>
        {
            for (int i = 0; i < count; i++)
            {
                int index = id % 2 == 0 ? i : count - 1 - i;
                try
                {
                    Heap.Delete(objects[index]);
                    Interlocked.Increment(ref deleted[index]);
                }
                catch (Exception exception) when (exception is DoubleDeleteException or DanglingReferenceException)
                {
                }
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Expect.True(deleted.All(n => n >= 1));
        Expect.True(deleted.Count(n => n > 1) < count / 20);
        var check = new List<string>();
        for (int i = 0; i < 50_000; i++)
            check.Add("value " + i);
        for (int i = 0; i < check.Count; i++)
            Expect.Equal("value " + i, check[i]);
    }

    private static void Undeletable()
    {
        (string Name, object Value)[] objects =
        [
            ("literal", "a literal"),
            ("empty string", string.Empty),
            ("type", typeof(Subject)),
            ("generic type", typeof(List<Subject>)),
            ("reflected type", new Subject(1).GetType()),
            ("thread", Thread.CurrentThread),
            ("frozen object", s_frozen),
            ("frozen array", s_frozenArray),
            ("empty array", Array.Empty<int>()),
        ];
        foreach ((string name, object value) in objects)
        {
            for (int i = 0; i < 3; i++)
            {
                ArgumentException exception = Expect.Throws<ArgumentException>(() => Heap.Delete(value), name);
                Expect.Equal("obj", exception.ParamName);
            }
        }
        Expect.Equal("a literal", (string)objects[0].Value);
        Expect.Equal(nameof(Subject), typeof(Subject).Name);
        Expect.True(Thread.CurrentThread.ManagedThreadId > 0);
        Expect.Equal(6, s_frozenArray.Sum());
        lock (s_frozen)
            Expect.True(s_frozen.GetHashCode() == s_frozen.GetHashCode());
        Heap.Delete(new Subject(2));
        lock (typeof(Subject))
            Heap.Verify();
    }

    // A deleted object that is still there has the hash code that it had.
    private static void KeepsHash()
    {
        for (int i = 0; i < 1_000; i++)
        {
            var subject = new Subject(i);
            int hash = RuntimeHelpers.GetHashCode(subject);
            if (i % 2 == 0)
            {
                lock (subject)
                    subject.Value++;
            }
            Heap.Delete(subject);
            try
            {
                Expect.Equal(hash, RuntimeHelpers.GetHashCode(subject));
            }
            catch (DanglingReferenceException)
            {
            }
        }
    }

    private static void Kinds()
    {
        object[] Make(int i) =>
        [
            new object(), "text" + i, i, 1.5m * i, new int[i % 100], new string[i % 50], new Mixed[i % 30], new int[3, 4], (i, "tuple"), new List<int> { i },
            new Action(() => i++), new Subject(i), new byte[i % 3 == 0 ? 60_000 : 10], new Exception("e" + i), new StringComparerLike(), Enumerable.Range(0, i + 1), new WeakReference(null),
            new int[0], new MemoryStream(), new CancellationTokenSource(), new SemaphoreSlim(1), new Random(i), new Uri("http://h/" + i),
        ];
        for (int i = 0; i < 2_000; i++)
        {
            object[] objects = Make(i);
            foreach (object item in objects)
                Heap.Delete(item);
            foreach (object item in objects)
                Expect.SecondDeleteThrows(item);
            Heap.Delete(objects);
        }
    }

    private sealed class StringComparerLike;

    // What an object refers to lives on.
    private static void NothingElse()
    {
        var kept = new List<Subject>();
        for (int i = 0; i < 20_000; i++)
        {
            var inner = new Subject(i);
            var outer = new Subject(-i) { Link = inner, Text = "t" + i };
            string text = outer.Text;
            Heap.Delete(outer);
            kept.Add(inner);
            inner.Text = text;
        }
        GC.Collect();
        for (int i = 0; i < kept.Count; i++)
        {
            Expect.Equal(i, kept[i].Value);
            Expect.Equal("t" + i, kept[i].Text);
        }
    }

    // Memory that comes back is zeroed.
    private static void Zeroed()
    {
        for (int round = 0; round < 6; round++)
        {
            var arrays = new List<byte[]>();
            for (int i = 0; i < 3_000; i++)
            {
                byte[] array = new byte[i % 7 == 0 ? 40_000 : i % 3_000];
                if (array.AsSpan().ContainsAnyExcept((byte)0))
                    throw new ContractException("new memory is not zero");
                array.AsSpan().Fill(0xEE);
                arrays.Add(array);
            }
            foreach (byte[] array in arrays)
                Heap.Delete(array);
        }
        for (int i = 0; i < 100_000; i++)
        {
            var subject = new Subject(0);
            Expect.True(subject.Link is null && subject.Text is null && subject.Version == 0);
            subject.Link = subject;
            subject.Text = "x";
            subject.Version = -1;
            Heap.Delete(subject);
        }
    }

    private class Final(int id)
    {
        public static int Count;
        public static int LastThread;
        public static int LastId;

        ~Final()
        {
            Interlocked.Increment(ref Count);
            LastThread = Environment.CurrentManagedThreadId;
            LastId = id;
        }
    }

    private sealed class FinalDerived(int id) : Final(id)
    {
        public static int Derived;

        ~FinalDerived() => Derived++;
    }

    private static void FinalizerOnce()
    {
        for (int i = 1; i <= 1_000; i++)
        {
            var final = new Final(i);
            Heap.Delete(final);
            Expect.Equal(i, Final.Count);
            Expect.Equal(i, Final.LastId);
            Expect.Equal(Environment.CurrentManagedThreadId, Final.LastThread);
            Expect.SecondDeleteThrows(final);
            Expect.Equal(i, Final.Count);
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Expect.Equal(1_000, Final.Count);
        Neighbours<Final>.Gone(i => new Final(i), 24);
        int after = Final.Count;
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Expect.Equal(after, Final.Count);
        int other = 0;
        var thread = new Thread(() =>
        {
            Heap.Delete(new Final(7));
            other = Final.LastThread == Environment.CurrentManagedThreadId ? 1 : 2;
        });
        thread.Start();
        thread.Join();
        Expect.Equal(1, other);
    }

    private static void FinalizerSuppressed()
    {
        var final = new Final(1);
        GC.SuppressFinalize(final);
        Heap.Delete(final);
        Expect.Equal(0, Final.Count);
        final = new Final(2);
        GC.SuppressFinalize(final);
        GC.ReRegisterForFinalize(final);
        Heap.Delete(final);
        Expect.Equal(1, Final.Count);
        var stream = new FileStream("/dev/null", FileMode.Open);
        stream.Dispose();
        Heap.Delete(stream);
    }

    private sealed class Thrower
    {
        public static int Count;

        ~Thrower()
        {
            Count++;
            throw new FormatException("from the finalizer");
        }
    }

    private static void FinalizerThrows()
    {
        var thrower = new Thrower();
        FormatException exception = Expect.Throws<FormatException>(() => Heap.Delete(thrower));
        Expect.Equal("from the finalizer", exception.Message);
        Heap.Delete(thrower);
        Expect.Equal(1, Thrower.Count);
        Expect.SecondDeleteThrows(thrower);
    }

    private sealed class Owner
    {
        public readonly Subject Inner = new(3);
        public readonly byte[] Buffer = new byte[100_000];

        ~Owner()
        {
            Heap.Delete(Inner);
            Heap.Delete(Buffer);
        }
    }

    private static void FinalizerDeletes()
    {
        for (int i = 0; i < 2_000; i++)
        {
            var owner = new Owner();
            Subject inner = owner.Inner;
            Heap.Delete(owner);
            Expect.SecondDeleteThrows(inner);
        }
    }

    private sealed class Phoenix
    {
        public static Phoenix? Saved;
        public int Value = 8;

        ~Phoenix() => Saved = this;
    }

    private static void FinalizerResurrects()
    {
        Heap.Delete(new Phoenix());
        try
        {
            Expect.Equal(8, Phoenix.Saved!.Value);
        }
        catch (DanglingReferenceException)
        {
        }
        Expect.SecondDeleteThrows(Phoenix.Saved!);
    }

    private static void FinalizerInherited()
    {
        Heap.Delete(new FinalDerived(5));
        Expect.Equal(1, FinalDerived.Derived);
        Expect.Equal(1, Final.Count);
        Expect.Equal(5, Final.LastId);
    }

    private static void LockHeld()
    {
        for (int i = 0; i < 1_000; i++)
        {
            var gate = new object();
            bool entered = false;
            try
            {
                Monitor.Enter(gate);
                entered = true;
                if (i % 2 == 0)
                    _ = RuntimeHelpers.GetHashCode(gate);
                Heap.Delete(gate);
                Monitor.Exit(gate);
                entered = false;
            }
            catch (DanglingReferenceException)
            {
            }
            GC.KeepAlive(entered);
        }
        var after = new object();
        lock (after)
            Expect.True(Monitor.IsEntered(after));
    }

    private static void LockWaited()
    {
        for (int round = 0; round < 30; round++)
        {
            var gate = new object();
            int entered = 0;
            Thread[] threads = [.. Enumerable.Range(0, 4).Select(_ => new Thread(() =>
            {
                try
                {
                    for (int i = 0; i < 50; i++)
                    {
                        lock (gate)
                            Interlocked.Increment(ref entered);
                    }
                }
                catch (DanglingReferenceException)
                {
                }
            }))];
            Array.ForEach(threads, thread => thread.Start());
            if (round % 2 == 0)
                Thread.Yield();
            Heap.Delete(gate);
            foreach (Thread thread in threads)
                thread.Join(); // if a thread hangs at a lock whose object was deleted, so does the case
        }
    }

    private static void Churn(int megabytes)
    {
        for (int i = 0; i < megabytes * 10; i++)
        {
            byte[] garbage = new byte[100_000 / 10 * (i % 10 + 1)];
            garbage.AsSpan().Fill(0x11);
            Heap.Delete(garbage);
        }
        for (int i = 0; i < megabytes * 4_000; i++)
        {
            byte[] garbage = new byte[230];
            garbage.AsSpan().Fill(0x22);
            Heap.Delete(garbage);
        }
        GC.Collect();
    }

    private static unsafe void PinnedByHandle()
    {
        foreach (int length in new[] { 100, 3_000, 200_000 })
        {
            var handles = new List<GCHandle>();
            for (int i = 0; i < 50; i++)
            {
                byte[] array = new byte[length];
                array.AsSpan().Fill((byte)i);
                handles.Add(GCHandle.Alloc(array, GCHandleType.Pinned));
            }
            byte*[] pointers = new byte*[50];
            for (int i = 0; i < 50; i++)
            {
                pointers[i] = (byte*)handles[i].AddrOfPinnedObject();
                Heap.Delete(handles[i].Target);
            }
            Churn(20);
            for (int i = 0; i < 50; i++)
            {
                if (new ReadOnlySpan<byte>(pointers[i], length).ContainsAnyExcept((byte)i))
                    throw new ContractException("pinned memory changed");
                pointers[i][length - 1] = 3;
                handles[i].Free();
            }
            GC.Collect();
        }
    }

    private static unsafe void PinnedByFixed()
    {
        foreach (int length in new[] { 100, 5_000, 100_000 })
        {
            var neighbours = new Neighbours<byte[]>(i => { byte[] array = new byte[length]; array.AsSpan().Fill((byte)(i % 251)); return array; }, length + 24);
            byte expected = (byte)(neighbours.Index % 251);
            fixed (byte* pointer = neighbours.Victim)
            {
                neighbours.Release();
                Churn(10);
                for (int i = 0; i < length; i++)
                {
                    if (pointer[i] != expected)
                        throw new ContractException("fixed memory changed");
                }
                pointer[0] = 1;
            }
            GC.Collect();
        }
    }

    [LibraryImport("libc", SetLastError = true)]
    private static partial int pipe(Span<int> ends);

    [LibraryImport("libc", SetLastError = true)]
    private static partial nint read(int file, byte[] buffer, nuint count);

    [LibraryImport("libc", SetLastError = true)]
    private static partial nint write(int file, ReadOnlySpan<byte> buffer, nuint count);

    // The kernel writes into a buffer that another thread deleted while read() was waiting. EFAULT would be a broken pin.
    private static void PinnedByNativeCall()
    {
        int[] ends = new int[2];
        Expect.Equal(0, pipe(ends));
        foreach (int length in new[] { 200, 4_000, 60_000 })
        {
            for (int round = 0; round < 5; round++)
            {
                var neighbours = new Neighbours<byte[]>(_ => new byte[length], length + 24);
                byte[] buffer = neighbours.Victim;
                nint got = -2;
                int error = 0;
                var reader = new WaitingThread(
                    () =>
                    {
                        got = read(ends[0], buffer, (nuint)length);
                        error = Marshal.GetLastPInvokeError();
                    },
                    number: 0);
                neighbours.Release();
                Churn(2);
                write(ends[1], new byte[150], 150);
                reader.Join();
                if (got != 150)
                    throw new ContractException($"read gave {got}, errno {error}");
            }
        }
    }

    private static void Statistics()
    {
        HeapStatistics before = Heap.GetStatistics();
        var items = new List<byte[]>();
        for (int i = 0; i < 10_000; i++)
            items.Add(new byte[1_000]);
        HeapStatistics middle = Heap.GetStatistics();
        Expect.True(middle.AllocatedBytes - before.AllocatedBytes is >= 10_000_000 and < 14_000_000);
        foreach (byte[] item in items)
            Heap.Delete(item);
        HeapStatistics after = Heap.GetStatistics();
        Expect.True(after.DeletedBytes - middle.DeletedBytes is >= 10_000_000 and < 14_000_000);
        GC.Collect();
        HeapStatistics end = Heap.GetStatistics();
        Expect.True(end.ReleasedBytes > before.ReleasedBytes);
        Expect.True(end.DeletedBytes <= end.AllocatedBytes);
        Expect.True(end.ResidentBytes < middle.ResidentBytes + 1_000_000);
    }
}
