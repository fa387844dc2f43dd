using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Point 7: weak references to deleted objects read null and never throw; strong handles are references like others.</summary>
internal static class Weak
{
    public static IEnumerable<Case> All()
    {
        yield return new("weak-reference", _ => References());
        yield return new("weak-handle", _ => Handles());
        yield return new("weak-dependent", _ => Dependent());
        yield return new("weak-table", _ => Table());
        yield return new("weak-native-callback", _ => NativeCallback());
        yield return new("weak-race", _ => Race());
        yield return new("handle-strong", _ => Strong());
    }

    private static void References()
    {
        var generic = new List<WeakReference<Subject>>();
        var plain = new List<WeakReference>();
        var subjects = new List<Subject>();
        for (int i = 0; i < 100_000; i++)
        {
            var subject = new Subject(i);
            subjects.Add(subject);
            if (i % 10 == 0)
            {
                generic.Add(new WeakReference<Subject>(subject));
                plain.Add(new WeakReference(subject, trackResurrection: i % 20 == 0));
            }
        }
        for (int i = 0; i < subjects.Count; i++)
        {
            if (i % 40 != 0)
                Heap.Delete(subjects[i]);
        }
        for (int round = 0; round < 2; round++)
        {
            for (int i = 0; i < generic.Count; i++)
            {
                bool alive = i % 4 == 0;
                Expect.Equal(alive, generic[i].TryGetTarget(out Subject? target));
                Expect.True(alive ? target!.Value == i * 10 : target is null);
                Expect.Equal(alive, plain[i].IsAlive);
                Expect.Equal(alive, plain[i].Target is not null);
            }
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        var fresh = new Subject(5);
        generic[1].SetTarget(fresh);
        Expect.True(generic[1].TryGetTarget(out Subject? again) && again == fresh);
        plain[1].Target = fresh;
        Expect.True(plain[1].Target == fresh);
        Heap.Delete(generic[2]);
        Heap.Delete(plain[2]);
        var empty = new WeakReference<Subject>(subjects[1]);
        Expect.True(!empty.TryGetTarget(out _));
    }

    private static void Handles()
    {
        var handles = new List<(GCHandle Short, GCHandle Long)>();
        var neighbours = new Neighbours<Subject>(i =>
        {
            var subject = new Subject(i);
            if (i % 50 == 0)
                handles.Add((GCHandle.Alloc(subject, GCHandleType.Weak), GCHandle.Alloc(subject, GCHandleType.WeakTrackResurrection)));
            return subject;
        }, 120);
        foreach ((GCHandle first, GCHandle second) in handles)
            Expect.True(first.Target is Subject && ReferenceEquals(first.Target, second.Target));
        neighbours.Release();
        foreach ((GCHandle first, GCHandle second) in handles)
        {
            Expect.True(first.Target is null);
            Expect.True(second.Target is null);
            Expect.True(first.IsAllocated);
            first.Free();
            second.Free();
        }
        GCHandle handle = GCHandle.Alloc(new Subject(1), GCHandleType.Weak);
        Heap.Delete(handle.Target);
        Expect.True(handle.Target is null);
        var other = new Subject(2);
        handle.Target = other;
        Expect.True(ReferenceEquals(handle.Target, other));
        handle.Free();
    }

    private static void Dependent()
    {
        var handles = new List<DependentHandle>();
        var neighbours = new Neighbours<Subject>(i =>
        {
            var subject = new Subject(i);
            if (i % 100 == 0)
                handles.Add(new DependentHandle(subject, "dependent " + i));
            return subject;
        }, 120);
        for (int i = 0; i < handles.Count; i++)
            Expect.Equal("dependent " + i * 100, (string?)handles[i].Dependent);
        neighbours.Release();
        foreach (DependentHandle handle in handles)
        {
            Expect.True(handle.Target is null);
            (object? target, object? dependent) = handle.TargetAndDependent;
            Expect.True(target is null && dependent is null or string);
            handle.Dispose();
        }
    }

    private unsafe delegate int Comparison(int* left, int* right);

#pragma warning disable SYSLIB1054 // what the compiler itself marshals is the point
    [DllImport("libc", EntryPoint = "qsort")]
    private static extern unsafe void Sort(int* first, nuint count, nuint size, Comparison comparison);
#pragma warning restore SYSLIB1054

    // The table of function pointers has weak references to their delegates.
    private static unsafe void NativeCallback()
    {
        int* values = stackalloc int[3];
        foreach (bool before in (bool[])[true, false])
        {
            int calls = 0;
            (values[0], values[1], values[2]) = (3, 1, 2);
            Comparison comparison = (left, right) => { calls++; return *left - *right; };
            if (before)
            {
                Sort(values, 3, sizeof(int), comparison);
                Expect.True(calls > 0 && values[0] == 1 && values[2] == 3);
            }
            Heap.Delete(comparison);
            nint address = (nint)values;
            Expect.Throws<DanglingReferenceException>(() => Sort((int*)address, 3, sizeof(int), comparison));
        }
    }

    private static void Table()
    {
        var table = new ConditionalWeakTable<object, object>();
        var kept = new List<(Subject Key, string Value)>();
        var neighbours = new Neighbours<Subject>(i =>
        {
            var subject = new Subject(i);
            if (i % 20 == 0)
                table.Add(subject, "value " + i);
            return subject;
        }, 120);
        for (int i = 0; i < 1_000; i++)
        {
            var key = new Subject(-i);
            string value = "kept " + i;
            table.Add(key, value);
            kept.Add((key, value));
        }
        neighbours.Release();
        for (int round = 0; round < 3; round++)
        {
            foreach ((Subject key, string value) in kept)
                Expect.True(table.TryGetValue(key, out object? found) && (string)found == value);
            for (int i = 0; i < 3_000; i++)
            {
                var key = new Subject(i);
                table.Add(key, "more");
                Heap.Delete(key);
            }
            int count = 0;
            foreach ((object key, object value) in table)
            {
                Expect.True(((Subject)key).Value <= 0 && value is string);
                count++;
            }
            Expect.Equal(kept.Count, count);
            GC.Collect();
        }
        try
        {
            Expect.True(!table.TryGetValue(neighbours.Victim, out _));
        }
        catch (DanglingReferenceException)
        {
        }
    }

    // Readers of a weak reference while its target is deleted: null, or an object that is whole until its use throws.
    private static void Race()
    {
        var slots = new WeakReference<Subject>[64];
        for (int i = 0; i < slots.Length; i++)
            slots[i] = new WeakReference<Subject>(new Subject(i));
        int wrong = 0;
        bool done = false;
        Thread[] readers = [.. Enumerable.Range(0, 3).Select(id => new Thread(() =>
        {
            var random = new Random(id);
            while (!Volatile.Read(ref done))
            {
                int index = random.Next(slots.Length);
                try
                {
                    if (slots[index].TryGetTarget(out Subject? subject) && (subject.Value % slots.Length != index || subject.Wide != subject.Value * 3L))
                        Interlocked.Increment(ref wrong);
                }
                catch (DanglingReferenceException)
                {
                }
            }
        }))];
        Array.ForEach(readers, thread => thread.Start());
        var order = new Random(9);
        for (int i = 0; i < (DebugMode.IsOn ? 20_000 : 300_000); i++)
        {
            int index = order.Next(slots.Length);
            var next = new Subject(index + slots.Length * (i % 1_000));
            slots[index].TryGetTarget(out Subject? old);
            slots[index].SetTarget(next);
            Heap.Delete(old);
        }
        Volatile.Write(ref done, true);
        Array.ForEach(readers, thread => thread.Join());
        Expect.Equal(0, wrong);
    }

    private static void Strong()
    {
        var neighbours = new Neighbours<Subject>(i => new Subject(i), 120);
        GCHandle handle = GCHandle.Alloc(neighbours.Victim);
        neighbours.Release();
        object? target = handle.Target;
        Expect.True(target is not null);
        Expect.Throws<DanglingReferenceException>(() => Console.WriteLine(((Subject)target!).Value));
        handle.Free();
    }
}
