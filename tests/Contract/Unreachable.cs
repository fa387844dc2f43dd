using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>What nothing refers to any more is found, and deleted when the program says so; whatever can still be reached is neither.</summary>
internal static class Unreachable
{
    private const int Count = 1000;

    public static IEnumerable<Case> All()
    {
        yield return new("unreachable-found", _ => Found());
        yield return new("unreachable-deleted", _ => Deleted());
        yield return new("unreachable-roots", _ => Roots());
        yield return new("unreachable-dependent", _ => Dependents());
        yield return new("unreachable-finalizer", _ => Finalizers());
        yield return new("unreachable-threads", arguments => Threads(arguments.Length > 0 ? int.Parse(arguments[0]) : Environment.TickCount));
        yield return new("unreachable-stale", _ => Stale());
        yield return new("unreachable-threads-ended", _ => ThreadsEnded());
        yield return new("unreachable-counted", _ => CountedByNativeCode());
        yield return new("unreachable-locks", _ => Locks());
        yield return new("unreachable-locks-threads", _ => LocksOfThreads());
    }

    private class Forgotten
    {
        public long Value = 42;
    }

    private sealed class Kept : Forgotten
    {
        public object? Next;
    }

    private sealed class Finalizable : Forgotten
    {
        public static int Finalized;
        public static Finalizable? Saved;
        public readonly Kept Needed = new() { Value = 7 };
        public int Again;
        public bool IsToBeSaved;

        ~Finalizable()
        {
            Expect.Equal(7L, Needed.Value);
            Interlocked.Increment(ref Finalized);
            if (Again-- > 0)
                GC.ReRegisterForFinalize(this);
            if (IsToBeSaved)
                Saved = this;
        }
    }

    // Interfaces of objects for native code, which counts its references to them: of these only IUnknown.
    private sealed unsafe class Wrappers : ComWrappers
    {
        protected override ComInterfaceEntry* ComputeVtables(object obj, CreateComInterfaceFlags flags, out int count)
        {
            count = 0;
            return null;
        }

        protected override object? CreateObject(nint externalComObject, CreateObjectFlags flags) => null;

        protected override void ReleaseObjects(System.Collections.IEnumerable objects)
        {
        }
    }

    private static void CountedByNativeCode()
    {
        var wrappers = new Wrappers();
        (nint Interface, WeakReference Object)[] held = [.. Enumerable.Range(0, Count).Select(_ => Wrap(wrappers))];
        Search();
        Expect.Equal(Count, held.Count(item => item.Object.Target is Forgotten { Value: 42 }));
        foreach ((nint pointer, _) in held)
            Expect.Equal(0, Marshal.Release(pointer));
        Search();
        Expect.Equal(0, held.Count(item => item.Object.IsAlive));

        static void Search()
        {
            for (int i = 0; i < 3; i++)
            {
                Heap.Reclaim();
                GC.WaitForPendingFinalizers();
            }
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (nint Interface, WeakReference Object) Wrap(Wrappers wrappers)
    {
        var wrapped = new Forgotten();
        return (wrappers.GetOrCreateComInterfaceForObject(wrapped, CreateComInterfaceFlags.None), new WeakReference(wrapped));
    }

    private static UnreachableObjects Of(Type type) => Heap.FindUnreachable().SingleOrDefault(found => found.Type == type);

    private static void Found()
    {
        Expect.Equal(default, Of(typeof(Forgotten)));
        Kept kept = Forget();
        UnreachableObjects objects = Of(typeof(Forgotten)), arrays = Of(typeof(Forgotten[])), texts = Of(typeof(string));
        Expect.Equal(new UnreachableObjects(typeof(Forgotten), Count, Count * 24), objects);
        Expect.Equal(1, arrays.Count);
        Expect.Equal((Count * 8) + 24, arrays.Bytes);
        Expect.True(texts.Count >= Count, texts.ToString());
        Expect.Equal(default, Of(typeof(Kept)));
        IReadOnlyList<UnreachableObjects> all = Heap.FindUnreachable();
        for (int i = 1; i < all.Count; i++)
            Expect.True(all[i - 1].Bytes >= all[i].Bytes);
        Expect.Equal("kept", (string)kept.Next!);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Kept Forget()
    {
        var array = new Forgotten[Count];
        for (int i = 0; i < Count; i++)
        {
            array[i] = new Forgotten();
            _ = i.ToString() + array.Length;
        }
        return new Kept { Next = new string(['k', 'e', 'p', 't']) };
    }

    private static void Deleted()
    {
        var weak = new List<WeakReference<object>>();
        for (int round = 0; round < 20; round++)
        {
            Kept kept = ForgetWeakly(weak);
            long inUse = GC.GetTotalMemory(false);
            Expect.True(Heap.Reclaim() >= Count);
            Expect.True(inUse - GC.GetTotalMemory(false) > Count * 1000, $"{inUse} bytes, then {GC.GetTotalMemory(false)}");
            foreach (WeakReference<object> reference in weak)
                Expect.Equal(false, reference.TryGetTarget(out _));
            Expect.Equal(42L, kept.Value);
            weak.Clear();
            Heap.Verify();
        }
        Expect.Equal(default, Of(typeof(Forgotten)));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Kept ForgetWeakly(List<WeakReference<object>> weak)
    {
        for (int i = 0; i < Count; i++)
            weak.Add(new WeakReference<object>(i % 2 == 0 ? new Forgotten() : new byte[2000]));
        weak.Add(new WeakReference<object>(new byte[300_000]));
        weak.Add(new WeakReference<object>(new byte[5_000_000]));
        return new Kept();
    }

    private struct Pinnable(long value)
    {
        public long Value = value;
    }

    private static Kept? s_static;
    [ThreadStatic]
    private static Kept? t_static;
    private static readonly AsyncLocal<Kept> s_asyncLocal = new();

    private static Kept New() => new() { Next = new Kept { Value = 43 } };

    private static void Check(object? kept)
    {
        Expect.Equal(42L, ((Kept)kept!).Value);
        Expect.Equal(43L, ((Kept)((Kept)kept).Next!).Value);
    }

    private static void DeleteAll()
    {
        _ = Forget();
        Expect.True(Heap.Reclaim() >= Count);
    }

    // Each way to hold an object.
    private static void Roots()
    {
        Kept local = New();
        s_static = New();
        t_static = New();
        s_asyncLocal.Value = New();
        GCHandle normal = GCHandle.Alloc(New()), pinned = GCHandle.Alloc(new[] { new Pinnable(3) }, GCHandleType.Pinned);
        var boxed = (object)(New(), 5);
        ref long interior = ref New().Value;
        Span<long> span = new long[] { 1, 2, 3, 4 }.AsSpan(3);
        Memory<char> memory = new string('m', 100).ToCharArray().AsMemory(50);
        Func<Kept> closure = Closure();
        Task<Kept> task = After(new TaskCompletionSource<Kept>(), out TaskCompletionSource<Kept> source);
        IEnumerator<Kept> iterator = Iterator().GetEnumerator();
        iterator.MoveNext();
        using var timer = new Timer(state => Check(state), New(), 5, 5);
        var table = new ConditionalWeakTable<object, Kept> { { local, New() } };
        var lazy = new ConcurrentDictionary<string, Lazy<Kept>>();
        lazy.TryAdd("k", new Lazy<Kept>(New));
        Check(lazy["k"].Value);
        Type type = typeof(Dictionary<Kept, List<Kept>>);
        for (int round = 0; round < 5; round++)
        {
            try
            {
                try
                {
                    throw new InvalidOperationException(new string('e', 10)) { Data = { ["kept"] = New() } };
                }
                finally
                {
                    DeleteAll();
                }
            }
            catch (InvalidOperationException exception)
            {
                DeleteAll();
                Check(exception.Data["kept"]);
                Expect.Equal("eeeeeeeeee", exception.Message);
            }
            DeleteAll();
            Check(local);
            Check(s_static);
            Check(t_static);
            Check(s_asyncLocal.Value);
            Check(normal.Target);
            Expect.Equal(default, Of(typeof(Pinnable[])));
            Expect.Equal(3L, ((Pinnable[])pinned.Target!)[0].Value);
            Check(((ValueTuple<Kept, int>)boxed).Item1);
            Expect.Equal(42L, interior);
            Expect.Equal(4L, span[0]);
            Expect.Equal('m', memory.Span[49]);
            Check(closure());
            Check(iterator.Current);
            Check(table.TryGetValue(local, out Kept? value) ? value : null);
            Check(lazy["k"].Value);
            Expect.True(type.ToString().Contains("Kept"));
            Thread.Sleep(10);
        }
        source.SetResult(New());
        Check(task.Result);
        Heap.Verify();
        pinned.Free();
        normal.Free();
        Expect.Equal(1, Of(typeof(Pinnable[])).Count);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Func<Kept> Closure()
    {
        Kept kept = New();
        return () => kept;
    }

    private static Task<Kept> After(TaskCompletionSource<Kept> source, out TaskCompletionSource<Kept> same)
    {
        same = source;
        return Wait(source.Task, New());
        static async Task<Kept> Wait(Task<Kept> task, Kept held)
        {
            Check(await task);
            return held;
        }
    }

    private static IEnumerable<Kept> Iterator()
    {
        Kept kept = New();
        while (true)
            yield return kept;
    }

    // Values live as long as their keys, also where a value is the next one's key; and no longer.
    private static void Dependents()
    {
        var table = new ConditionalWeakTable<object, object>();
        Kept first = Chain(table);
        DeleteAll();
        object next = first;
        for (int i = 0; i < 50; i++)
        {
            Expect.True(table.TryGetValue(next, out object? value), $"link {i}");
            next = value!;
            Expect.Equal((long)i, ((Kept)next).Value);
        }
        Expect.Equal(default, Of(typeof(Kept)));
        Expect.Equal(50, table.Count());
        table.Remove(first);
        Heap.Reclaim();
        Expect.Equal(0, table.Count());
        Expect.Equal(42L, first.Value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static Kept Chain(ConditionalWeakTable<object, object> table)
    {
        var first = new Kept();
        object key = first;
        for (int i = 0; i < 50; i++)
        {
            var value = new Kept { Value = i };
            table.Add(key, value);
            key = value;
        }
        // Each of these refers to its own key.
        for (int i = 0; i < 50; i++)
        {
            var lost = new Kept();
            table.Add(lost, new Kept { Next = lost });
        }
        return first;
    }

    // They run on the finalizer thread, once; what they need is there; then the objects go.
    private static void Finalizers()
    {
        (WeakReference<Finalizable> weak, WeakReference<Finalizable> weakLong) = ForgetFinalizable();
        Expect.Equal(new UnreachableObjects(typeof(Finalizable), 3, 3 * 40), Of(typeof(Finalizable)));
        Expect.Equal(3, Of(typeof(Kept)).Count);
        for (int round = 0; round < 2; round++)
        {
            Heap.Reclaim();
            // Of three, one has its finalizer suppressed, and one registers itself again the first time.
            Expect.Equal(false, weak.TryGetTarget(out _));
            GC.WaitForPendingFinalizers();
            Expect.Equal(round == 0 ? 2 : 3, Finalizable.Finalized);
            Expect.Equal(round == 0, weakLong.TryGetTarget(out _));
        }
        Heap.Reclaim();
        Expect.Equal(default, Of(typeof(Finalizable)));
        Expect.Equal(default, Of(typeof(Kept)));
        GC.WaitForPendingFinalizers();
        Expect.Equal(3, Finalizable.Finalized);
        // What a finalizer saves is not lost, and is finalized no more.
        ForgetSaved();
        Heap.Reclaim();
        GC.WaitForPendingFinalizers();
        Heap.Reclaim();
        Expect.Equal(7L, Finalizable.Saved!.Needed.Value);
        Heap.Delete(Finalizable.Saved);
        Expect.Equal(4, Finalizable.Finalized);
        // The framework's own: nobody disposes of the stream, and yet its file is closed.
        string path = Path.GetTempFileName();
        Expect.Equal(1, OpenAndForget(path));
        Heap.Reclaim();
        GC.WaitForPendingFinalizers();
        Expect.Equal(0, OpenFiles(path));
        File.Delete(path);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (WeakReference<Finalizable>, WeakReference<Finalizable>) ForgetFinalizable()
    {
        GC.SuppressFinalize(new Finalizable());
        return (new WeakReference<Finalizable>(new Finalizable { Again = 1 }), new WeakReference<Finalizable>(new Finalizable(), trackResurrection: true));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void ForgetSaved() => _ = new Finalizable { IsToBeSaved = true };

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OpenAndForget(string path)
    {
        _ = new FileStream(path, FileMode.Open);
        return OpenFiles(path);
    }

    private static int OpenFiles(string path) => Directory.GetFiles("/proc/self/fd").Count(file => new FileInfo(file).LinkTarget == path);

    // Threads that build, check and forget, beside one that deletes what they forget. The seed may be given.
    private static void Threads(int seed)
    {
        Console.WriteLine($"seed {seed}");
        var failures = new ConcurrentQueue<Exception>();
        bool over = false;
        var threads = new List<Thread>();
        for (int i = 0; i < 4; i++)
        {
            int number = i;
            var thread = new Thread(() =>
            {
                try
                {
                    var random = new Random(seed + number);
                    var texts = new Dictionary<int, string>();
                    var lists = new LinkedList<long[]>();
                    for (int step = 0; step < 30_000; step++)
                    {
                        int key = random.Next(500);
                        if (texts.TryGetValue(key, out string? text))
                            Expect.Equal(key, int.Parse(text));
                        texts[key] = key.ToString();
                        lists.AddLast(Enumerable.Repeat((long)step, 1 + random.Next(20)).ToArray());
                        if (lists.Count > 200)
                        {
                            Expect.Equal(lists.First!.Value[0], lists.First.Value[^1]);
                            lists.RemoveFirst();
                        }
                    }
                }
                catch (Exception exception)
                {
                    failures.Enqueue(exception);
                }
            });
            thread.Start();
            threads.Add(thread);
        }
        var deleter = new Thread(() =>
        {
            while (!Volatile.Read(ref over))
            {
                Heap.Reclaim();
                Heap.Compact();
            }
        });
        deleter.Start();
        foreach (Thread thread in threads)
            thread.Join();
        Volatile.Write(ref over, true);
        deleter.Join();
        Expect.True(failures.IsEmpty, failures.FirstOrDefault()?.ToString() ?? "");
        Heap.Verify();
    }

    // What was deleted and is still referred to: uses of it do as the contract says, and nobody deletes it twice.
    private static void Stale()
    {
        var stale = new Kept[Count];
        for (int i = 0; i < Count; i++)
            stale[i] = New();
        for (int i = 0; i < Count; i += 2)
            Heap.Delete(stale[i]);
        long doubles = Heap.GetStatistics().DoubleDeletes;
        DeleteAll();
        Expect.Equal(doubles, Heap.GetStatistics().DoubleDeletes);
        for (int i = 0; i < Count; i++)
        {
            try
            {
                Check(stale[i]);
            }
            catch (DanglingReferenceException) when (i % 2 == 0)
            {
            }
        }
    }

    [ThreadStatic]
    private static Forgotten? t_own;

    // The objects that hold the static fields of a thread have a type that is none of the program's.
    private static void ThreadsEnded()
    {
        long before = Of(typeof(Forgotten)).Count;
        for (int i = 0; i < 10; i++)
        {
            var thread = new Thread(() =>
            {
                t_own = new Forgotten();
                lock (typeof(Unreachable))
                    GC.KeepAlive(t_own);
            });
            thread.Start();
            thread.Join();
        }
        // A thread that was joined may not be off the runtime's list yet.
        Expect.Eventually(() => Of(typeof(Forgotten)).Count == before + 10);
        foreach (UnreachableObjects found in Heap.FindUnreachable())
            Expect.True(found.Type.ToString().Length > 0 && found.Count > 0);
        Expect.True(Heap.Reclaim() >= 10);
        Expect.Equal(default, Of(typeof(Forgotten)));
    }

    // An object whose hash code was asked for and that was locked has an entry in the runtime's table of locks.
    private static void LockSome(int count)
    {
        var thread = new Thread(() =>
        {
            for (int i = 0; i < count; i++)
            {
                var item = new Forgotten();
                int hash = RuntimeHelpers.GetHashCode(item);
                lock (item)
                    Expect.Equal(hash, RuntimeHelpers.GetHashCode(item));
            }
        });
        thread.Start();
        thread.Join();
    }

    private static void Locks()
    {
        const int Locked = 20_000;
        long after = 0;
        for (int round = 0; round < 12; round++)
        {
            LockSome(Locked);
            Heap.Reclaim();
            GC.WaitForPendingFinalizers();
            if (round == 3)
                after = GC.GetTotalMemory(false);
        }
        long grown = GC.GetTotalMemory(false) - after;
        Expect.True(grown < 8L * Locked * 40 / 4, $"{grown} bytes more after eight rounds of {Locked} locked objects");
    }

    // Locks that are held, waited for, made and left while the entries of others are released.
    private static void LocksOfThreads()
    {
        const int Steps = 5_000;
        int running = 4;
        Exception? failure = null;
        int[] counts = new int[running];
        var shared = new object[8];
        for (int i = 0; i < shared.Length; i++)
            shared[i] = new object();
        Thread[] threads = [.. Enumerable.Range(0, counts.Length).Select(id => new Thread(() =>
        {
            try
            {
                for (int i = 0; i < Steps; i++)
                {
                    var own = new object();
                    int hash = RuntimeHelpers.GetHashCode(own);
                    lock (own)
                        Expect.Equal(hash, RuntimeHelpers.GetHashCode(own));
                    object gate = shared[i % shared.Length];
                    lock (gate)
                    {
                        counts[id]++;
                        if (i % 64 == 0)
                            Monitor.Wait(gate, 0);
                    }
                }
            }
            catch (Exception exception)
            {
                failure = exception;
            }
            finally
            {
                Interlocked.Decrement(ref running);
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        while (Volatile.Read(ref running) != 0)
            Heap.Reclaim();
        Array.ForEach(threads, thread => thread.Join());
        Expect.True(failure is null, failure?.ToString());
        Expect.True(counts.All(count => count == Steps));
    }
}
