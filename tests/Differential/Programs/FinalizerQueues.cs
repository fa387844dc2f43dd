using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Differential.Programs;

/// <summary>Very many objects with finalizers, registered and suppressed again from many threads; safe handles whose counts race; handles of every kind that churn.</summary>
internal static partial class FinalizerQueues
{
    private static int s_finalized;

    private class Finalizable
    {
        public object? Held;
        public bool Counts;

        ~Finalizable()
        {
            if (Counts)
                Interlocked.Increment(ref s_finalized);
        }
    }

    private sealed class Memory : SafeHandle
    {
        public static int Released;

        public unsafe Memory(int size) : base(0, true) => SetHandle((nint)NativeMemory.AllocZeroed((nuint)size));

        public override bool IsInvalid => handle == 0;

        protected override unsafe bool ReleaseHandle()
        {
            NativeMemory.Free((void*)handle);
            Interlocked.Increment(ref Released);
            return true;
        }
    }

    public static void Run()
    {
        Suppressed();
        Registered();
        Handles();
        SafeHandles();
        Dependents();
        Tables();
    }

    private static void Suppressed()
    {
        var all = new Finalizable[20_000];
        Parallel.For(0, 8, thread =>
        {
            for (int i = thread; i < all.Length; i += 8)
            {
                all[i] = new Finalizable { Held = i, Counts = true };
                GC.SuppressFinalize(all[i]);
                if (i % 3 == 0)
                {
                    GC.ReRegisterForFinalize(all[i]);
                    GC.ReRegisterForFinalize(all[i]);
                    GC.SuppressFinalize(all[i]);
                }
            }
        });
        long sum = all.Sum(item => (long)(int)item.Held!);
        foreach (Finalizable item in all)
        {
            GC.SuppressFinalize(item);
            item.Counts = false;
            Manual.Delete(item);
        }
        GC.Collect();
        GC.WaitForPendingFinalizers();
        Console.WriteLine(sum + " " + s_finalized);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Drop(int count)
    {
        for (int i = 0; i < count; i++)
        {
            var item = new Finalizable { Counts = true, Held = new byte[i % 100] };
            Manual.Delete(item.Held);
            item.Held = null;
            Manual.Delete(item);
        }
    }

    // Each runs once, whoever is responsible for it: a collection, or its deletion.
    private static void Registered()
    {
        var threads = new Thread[6];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(() => Drop(2_000));
            threads[i].Start();
        }
        Array.ForEach(threads, thread => thread.Join());
        // A conservative word may hold the last one for the stock collector.
        for (int i = 0; i < 50 && s_finalized < 11_990; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        Console.WriteLine(s_finalized >= 11_990 && s_finalized <= 12_000);
    }

    private static void Handles()
    {
        long sum = 0;
        Parallel.For(0, 8, thread =>
        {
            var handles = new List<(GCHandle Handle, GCHandleType Type)>();
            for (int i = 0; i < 4_000; i++)
            {
                object target = i % 2 == 0 ? new int[] { i } : "text " + i;
                var type = (GCHandleType)(i % 4);
                handles.Add((GCHandle.Alloc(target, type), type));
                if (handles.Count < 64)
                    continue;
                int index = i * 7 % handles.Count;
                GCHandle handle = handles[index].Handle;
                var back = GCHandle.FromIntPtr(GCHandle.ToIntPtr(handle));
                object? found = back.Target;
                Interlocked.Add(ref sum, back == handle ? 1 : 0);
                // The target of a weak one may be gone, with the stock collector too.
                if (handles[index].Type >= GCHandleType.Normal && found is null)
                    throw new InvalidOperationException("a strong handle lost its target");
                handle.Target = handle.Target is int[]? new int[] { -1 } : "other";
                handles.RemoveAt(index);
                handle.Free();
            }
            handles.ForEach(item => item.Handle.Free());
        });
        Console.WriteLine(sum);
    }

    private static void SafeHandles()
    {
        int thrown = 0, used = 0;
        for (int round = 0; round < 200; round++)
        {
            var memory = new Memory(100);
            Parallel.For(0, 6, thread =>
            {
                bool added = false;
                try
                {
                    memory.DangerousAddRef(ref added);
                    Marshal.WriteInt32(memory.DangerousGetHandle() + (4 * thread), thread);
                    Interlocked.Increment(ref used);
                }
                catch (ObjectDisposedException)
                {
                    Interlocked.Increment(ref thrown);
                }
                finally
                {
                    if (added)
                        memory.DangerousRelease();
                }
                if (thread == 3)
                    memory.Dispose();
            });
            memory.Dispose();
            Manual.Delete(memory);
        }
        Console.WriteLine((used + thrown) + " " + Memory.Released);
    }

    private static void Dependents()
    {
        var sum = new Checksum();
        object[] keys = [.. Enumerable.Range(0, 500).Select(i => new object())];
        var handles = new DependentHandle[keys.Length];
        for (int round = 0; round < 10; round++)
        {
            for (int i = 0; i < handles.Length; i++)
            {
                if (handles[i].IsAllocated && i % 2 == 0)
                    handles[i].Dispose();
                if (!handles[i].IsAllocated)
                    handles[i] = new DependentHandle(keys[i], "dependent " + round);
                else
                    handles[i].Dependent = new int[] { round };
            }
            GC.Collect(0);
            foreach (DependentHandle handle in handles)
            {
                (object? target, object? dependent) = handle.TargetAndDependent;
                sum.Add(Array.IndexOf(keys, target) >= 0 ? 1 : 0);
                sum.Add(dependent is string text ? text.Length : ((int[])dependent!)[0]);
            }
        }
        for (int i = 0; i < handles.Length; i++)
            handles[i].Dispose();
        Console.WriteLine(sum);
        GC.KeepAlive(keys);
    }

    // Weak keys: a table of tables that threads fill at once, and values that lead back to their keys.
    private static void Tables()
    {
        var outer = new ConditionalWeakTable<object, ConditionalWeakTable<string, object[]>>();
        object[] keys = [.. Enumerable.Range(0, 300).Select(i => new object())];
        string[] names = [.. Enumerable.Range(0, 40).Select(i => new string('n', i + 1))];
        int made = 0;
        Parallel.For(0, 12_000, i =>
        {
            object key = keys[i % keys.Length];
            ConditionalWeakTable<string, object[]> inner = outer.GetOrCreateValue(key);
            object[] value = inner.GetValue(names[i % names.Length], name => [name, key, inner]);
            if (ReferenceEquals(value[1], key) && ReferenceEquals(value[0], names[i % names.Length]))
                Interlocked.Increment(ref made);
        });
        int total = keys.Sum(key => outer.TryGetValue(key, out ConditionalWeakTable<string, object[]>? inner) ? inner.Count() : 0);
        var weak = new List<WeakReference<object>>();
        foreach (object key in keys)
        {
            var reference = new WeakReference<object>(key, weak.Count % 2 == 0);
            weak.Add(reference);
        }
        GC.Collect();
        Console.WriteLine(made + " " + total + " " + weak.Count(reference => reference.TryGetTarget(out object? target) && outer.TryGetValue(target, out _)));
        GC.KeepAlive(keys);
        GC.KeepAlive(names);
    }
}
