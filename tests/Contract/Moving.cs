using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;
using System.Text;

namespace Freehold.Contract;

/// <summary>
/// Promotion is invisible: every use of a reference to an object that moved answers as that of an object that did not. The references are kept as
/// numbers, where nothing can make them current, and used as references afterwards.
/// </summary>
internal static partial class Moving
{
    private const int Victims = 24;

    private static object? s_sink;
    private static readonly object s_live = new List<int> { 1 };
    private static Subject? s_static;

    [ThreadStatic]
    private static Subject? t_static;

    public static IEnumerable<Case> All()
    {
        // Fields.
        yield return Of("field-int", s => s.Value);
        yield return Of("field-long", s => s.Wide);
        yield return Of("field-double", s => s.Real);
        yield return Of("field-volatile", s => s.Version);
        yield return Of("field-reference", s => s.Link is null);
        yield return Of("field-struct", s => Whole(s.Mixed));
        yield return Of("field-write", s => { s.Value = 5; s.Wide = 6; s.Real = 1.5; s.Version = 3; return s.Value + s.Wide + s.Real + s.Version; });
        yield return Of("field-write-reference", s => { s.Link = s_live; s.Text = "literal"; return (ReferenceEquals(s.Link, s_live), s.Text); });
        yield return Of("field-write-struct", s => { s.Mixed = new Mixed(8, "text", s_live); return (s.Mixed.IsWhole, s.Mixed.Text); });
        yield return Of("field-copy-struct", s => { Mixed copy = s.Mixed; copy.First++; s.Mixed = copy; return s.Mixed.First; });
        yield return Of("field-increment", s => ++s.Value + s.Value++);
        yield return Of("field-by-reference", s => Increment(ref s.Value) + s.Value);
        yield return Of("field-struct-by-reference", s => { Replace(ref s.Mixed); return (s.Mixed.First, s.Mixed.Text); });
        yield return Of("interlocked-add", s => (Interlocked.Add(ref s.Value, 3), Interlocked.Increment(ref s.Wide), s.Value));
        yield return Of("interlocked-exchange", s => (Interlocked.Exchange(ref s.Text, "b"), Interlocked.Exchange(ref s.Text, "c"), Interlocked.Exchange(ref s.Value, 9)));
        yield return Of("interlocked-compare-exchange", s => (Interlocked.CompareExchange(ref s.Text, "new", null), s.Text, Interlocked.CompareExchange(ref s.Value, 4, -1)));
        yield return Of("interlocked-read", s => (Interlocked.Read(ref s.Wide), Volatile.Read(ref s.Value)));

        // Calls, types.
        yield return Of("call-direct", s => s.Direct());
        yield return Of("call-virtual", s => s.Twice());
        yield return Of("call-interface", s => CallInterface(s, 3));
        yield return Of("call-interface-polymorphic", s => CallInterface(new OtherSubject(), 1) + CallInterface(s, 3));
        yield return Of("call-generic-virtual", s => s.Generic<string>() + s.Generic<int>());
        yield return Of("call-get-type", s => s.GetType().Name);
        yield return Of("call-to-string", s => s.ToString());
        yield return Of("cast", s => ((object)s is DerivedSubject, (object)s is ISubject, (object)s is IUnrelated, (object)s is IEnumerable<string>));
        yield return Of("array-store", s => { var array = new ISubject[2]; array[1] = s; return array[1].Number; });
        yield return Of("delegate-bound", s => { Func<int> direct = s.Direct, twice = s.Twice; return direct() + twice(); });
        yield return Of("lock", s => { lock (s) return Monitor.IsEntered(s); });
        yield return Of("lock-nested", s => { lock (s) lock (s) { Monitor.Exit(s); Monitor.Enter(s); return Monitor.IsEntered(s); } });
        yield return Of("hash-code", s => RuntimeHelpers.GetHashCode(s) == RuntimeHelpers.GetHashCode(s));
        yield return Of("memberwise", s => RuntimeHelpers.GetHashCode(s) != 0);
        yield return Of("loop", s => { long total = 0; for (int i = 0; i < 1_000; i++) total += s.Value ^ i; return total; });
        yield return Of("static-field", s => { s_static = s; int first = ReadStatic(), second = ReadStatic(); s_static = null; return (first, second); });
        yield return Of("thread-static", s => { t_static = s; int first = ReadThreadStatic(); t_static = null; return first; });
        yield return Of("in-field", s => { var holder = new Subject(1) { Link = s }; return ReadThrough(holder) + ReadThrough(holder); });
        yield return Of("in-list", s => { var list = new List<Subject> { s, s }; return list.Sum(x => x.Value) + list[0].Value; });
        yield return Of("in-closure", s => { Func<int> read = () => s.Value; return read() + read(); });
        yield return Of("in-iterator", s => Iterate(s).Sum());
        yield return Of("in-async", s => Await(s).GetAwaiter().GetResult());
        yield return Of("in-other-thread", s => { int value = 0; var thread = new Thread(() => value = s.Value); thread.Start(); thread.Join(); return value; });
        yield return Of("weak-table", s => { var table = new ConditionalWeakTable<object, object>(); table.Add(s, "x"); return table.TryGetValue(s, out object? found) ? found : null; });
        yield return Of("arguments", s => Many(s, s, s, s, s, s, s, s, 1));
        yield return Of("called-often", s => { long total = 0; for (int i = 0; i < 5_000; i++) total += ReadValue(s); return total; });

        // Arrays.
        yield return Array("array-sum", a => { int sum = 0; for (int i = 0; i < a.Length; i++) sum += a[i]; return sum; });
        yield return Array("array-sum-backwards", a => { int sum = 0; for (int i = a.Length - 1; i >= 0; i--) sum = sum * 3 + a[i]; return sum; });
        yield return Array("array-foreach", a => { int sum = 0; foreach (int x in a) sum += x; return sum; });
        yield return Array("array-write", a => { for (int i = 0; i < a.Length; i++) a[i] = i * 3; return a.Sum(); });
        yield return Array("array-linq", a => a.Where(x => x % 2 == 0).Select(x => (long)x).Sum());
        yield return Array("array-clone", a => ((int[])a.Clone()).Sum());
        yield return Array("array-copy", a => { var copy = new int[a.Length]; System.Array.Copy(a, copy, a.Length); return copy.Sum(); });
        yield return Array("array-copy-into", a => { int[] source = [.. Enumerable.Range(0, a.Length)]; System.Array.Copy(source, a, a.Length); return a.Sum(); });
        yield return Array("array-copy-overlap", a => { System.Array.Copy(a, 0, a, 3, a.Length - 3); System.Array.Copy(a, 5, a, 0, a.Length - 5); return Digest(a); });
        yield return Array("array-clear", a => { System.Array.Clear(a, 2, a.Length - 4); return Digest(a); });
        yield return Array("array-fill", a => { System.Array.Fill(a, 7); return Digest(a); });
        yield return Array("array-search", a => (System.Array.IndexOf(a, a.Length - 1), a.AsSpan().IndexOf(-1), a.Contains(int.MaxValue)));
        yield return Array("array-sort", a => { System.Array.Sort(a, (x, y) => y.CompareTo(x)); return Digest(a); });
        yield return Array("array-sort-primitive", a => { System.Array.Reverse(a); System.Array.Sort(a); return Digest(a); });
        yield return Array("array-sequence-equal", a => a.AsSpan().SequenceEqual(Enumerable.Range(0, a.Length).ToArray()));
        yield return Array("array-vector", SumVector);
        yield return Array("array-vector256", SumVector256);
        yield return Array("array-ref-loop", RefLoop);
        yield return Array("array-element-ref", a => { ref int x = ref a[3]; x += 5; return x + a[3]; });
        yield return Array("span-loop", a => { int sum = 0; foreach (int x in a.AsSpan(1)) sum += x; return sum; });
        yield return Array("span-slices", a => { Span<int> span = a; int sum = 0; while (span.Length > 0) { sum += span[0]; span = span[1..]; } return sum; });
        yield return Array("span-copy", a => { a.AsSpan(0, a.Length - 7).CopyTo(a.AsSpan(7)); return Digest(a); });
        yield return Array("span-reverse", a => { a.AsSpan().Reverse(); return Digest(a); });
        yield return Array("span-bytes", a => MemoryMarshal.AsBytes(a.AsSpan()).ToArray().Length + MemoryMarshal.AsBytes(a.AsSpan())[4]);
        yield return Array("memory", a => { Memory<int> memory = a; int sum = 0; foreach (int x in memory.Span) sum += x; return sum; });
        yield return Make("array-of-references", i => (object[])[.. Enumerable.Range(0, 60 + i % 3).Select(x => (object)("text" + x))], a => { var copy = new object[a.Length]; System.Array.Copy(a, copy, a.Length); return string.Concat(copy) + a[7] + a.Length; });
        yield return Make("array-of-references-overlap", i => (object[])[.. Enumerable.Range(0, 90).Select(x => (object)("t" + x))], a => { System.Array.Copy(a, 0, a, 1, a.Length - 1); System.Array.Copy(a, 4, a, 2, a.Length - 4); return string.Concat(a); });
        yield return Make("array-of-references-write", i => new object?[50], a => { for (int i = 0; i < a.Length; i++) a[i] = "x" + i; a[5] = null; return string.Concat(a); });
        yield return Make("array-of-structs", i => (Mixed[])[.. Enumerable.Range(0, 20).Select(x => new Mixed(x, "t" + x, s_live))], a => { a[3] = a[5]; Mixed m = a[7]; a[8] = m; return string.Concat(a.Select(x => x.Text + x.First)); });
        yield return Make("array-multidimensional", i => new long[5, 9], a => { a[2, 3] = 8; a[4, 8] = 7; return a[2, 3] + a[4, 8] + a.Length; });
        yield return Make("array-large-copy", i => new byte[6_000], a => { a[17] = 3; var copy = new byte[a.Length]; Buffer.BlockCopy(a, 0, copy, 0, a.Length); a.AsSpan(0, 5_900).CopyTo(a.AsSpan(100)); a.AsSpan(3).CopyTo(a); return copy[17] + a[114] + a[17]; });
        yield return Make("array-large-fill", i => new byte[6_000], a => { a.AsSpan().Fill(9); a.AsSpan(0, 3_000).Clear(); return a.Sum(x => x); });

        // Strings, boxes, delegates, collections.
        yield return Text("string-read", t => t.Length + t[3]);
        yield return Text("string-operations", t => (t.IndexOf('7'), t.IndexOf("9 "), t.LastIndexOf('t'), t.ToUpperInvariant(), t.Substring(4), t.Replace("t", "zz"), t.Split(' ').Length, t.GetHashCode(), t.Trim()));
        yield return Text("string-compare", t => (t == "text", t.Equals(new string(t.AsSpan())), string.CompareOrdinal(t, "text 7"), string.Compare(t, "TEXT", StringComparison.OrdinalIgnoreCase)));
        yield return Text("string-concat", t => t + t + t.Length + $"{t}-{t}");
        yield return Text("string-encode", t => Encoding.UTF8.GetString(Encoding.UTF8.GetBytes(t)) + Convert.ToBase64String(Encoding.Unicode.GetBytes(t)));
        yield return Text("string-key", t => { var map = new Dictionary<string, int> { [t] = 4 }; return map[new string(t.AsSpan())] + map[t]; });
        yield return Text("string-key-ignoring-case", t => { var map = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase) { [t] = 4 }; return map[t.ToUpperInvariant()] + map[t]; });
        yield return Text("string-key-span", t => { var map = new Dictionary<string, int> { [t] = 4 }.GetAlternateLookup<ReadOnlySpan<char>>(); return map[t] + (map.ContainsKey(t.AsSpan(1)) ? 1 : 0); });
        yield return Text("string-key-span-ignoring-case", t => { var map = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase) { [t] = 4 }.GetAlternateLookup<ReadOnlySpan<char>>(); return map[t] + map[t.ToUpperInvariant()] + (map.ContainsKey(t.AsSpan(1)) ? 1 : 0); });
        yield return Text("string-fixed", FixedText);
        yield return Make("boxed", i => (object)(i % 100 + 0.5), b => (double)b + b.GetHashCode() + Convert.ToDouble(b));
        yield return Make("boxed-struct", i => (object)new KeyValuePair<string, int>("k", i % 100), b => ((KeyValuePair<string, int>)b).Key + ((KeyValuePair<string, int>)b).Value + b);
        yield return Make("delegate", i => { int k = i % 10; Func<int, int> f = x => x + k; return f; }, f => f(1) + f(2));
        yield return Make("delegate-multicast", i => { int k = i % 10, n = 0; Func<int> f = () => n += k; f += () => n *= 2; return f; }, f => f() + f.GetInvocationList().Length);
        yield return Make("dictionary", i => new Dictionary<int, string> { [i % 7] = "a", [9] = "b" }, d => { d[10] = "c"; return string.Concat(d.OrderBy(x => x.Key).Select(x => x.Key + x.Value)); });
        yield return Make("list", i => new List<int> { 1, 2, i % 5 }, l => { l.Add(4); l.AddRange([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]); return l.Sum(); });
        yield return Make("string-builder", i => new StringBuilder("x" + i % 4), b => b.Append("abc").Append(7).Insert(1, "q").ToString());
        yield return Make("exception", i => new InvalidOperationException("e" + i % 4), e => { try { throw e; } catch (InvalidOperationException caught) { return caught.Message + (caught.StackTrace is not null); } });
        yield return Make("exception-filter", i => new InvalidOperationException("e"), e => { try { try { throw e; } finally { s_sink = e.Message; } } catch (Exception caught) when (caught.Message == "e") { return "filtered"; } });
        yield return Make("random", i => new Random(i % 6), r => r.Next() + r.NextDouble());
        yield return Make("task-source", i => new TaskCompletionSource<int>(), t => { Task<int> task = t.Task.ContinueWith(x => x.Result + 1); t.SetResult(4); return task.Result; });
        yield return Make("suppress-finalizer", i => new WithFinalizer(), w => { GC.SuppressFinalize(w); GC.ReRegisterForFinalize(w); GC.SuppressFinalize(w); return w.Value; });

        // In the middle of things.
        yield return new("moving-during-ref-loop", _ => DuringRefLoop());
        yield return new("moving-during-vector-loop", _ => DuringVectorLoop());
        yield return new("moving-during-span-loop", _ => DuringSpanLoop());
        yield return new("moving-during-foreach", _ => DuringForeach());
        yield return new("moving-during-lock", _ => DuringLock());
        yield return new("moving-during-exception", _ => DuringException());
        yield return new("moving-during-async", _ => DuringAsync().GetAwaiter().GetResult());
        yield return new("moving-handle", _ => Handle());
        yield return new("moving-weak", _ => WeakReferences());
        yield return new("moving-weak-table-many", _ => WeakTable());
        yield return new("moving-hash-set", _ => HashCodes());
        yield return new("moving-delete", _ => Deletes());
        foreach (Case other in Addresses().Concat(Arguments()).Concat(Comparisons()))
            yield return other;
        yield return new("moving-field-is-mended", _ => FieldIsMended());
        yield return new("moving-element-is-mended", _ => ElementIsMended());
        yield return new("moving-sites", _ => EachSiteFaults());
        yield return new("moving-threads", _ => Threads());
        yield return new("moving-cost", _ => Cost());
    }

    [LibraryImport("freehold")]
    private static partial nint freehold_current_address(nint address);

    // What these cases keep as numbers no remap can make current.
    [LibraryImport("freehold")]
    private static partial void freehold_refuse_remaps(int refuse);

    private static Case Of(string name, Func<Subject, object?> use) => Make(name, i => i % 2 == 0 ? new DerivedSubject(i % 50) : new Subject(i % 50), use);

    private static Case Array(string name, Func<int[], object?> use) => Make(name, i => (int[])[.. Enumerable.Range(0, 100 + i % 9)], use);

    private static Case Text(string name, Func<string, object?> use) => Make(name, i => "text " + i % 40 + " with some words", use);

    // `use` answers for an object that moved what it answers for one that did not; the objects are made from small numbers alone.
    private static Case Make<T>(string name, Func<int, T> make, Func<T, object?> use)
        where T : class
    {
        return new("moving-" + name, _ =>
        {
            nint[] stale = Promoted(make);
            long repaired = Heap.GetStatistics().RepairedFaults;
            for (int k = 0; k < Victims; k++)
            {
                object? expected = use(make(k)), actual = Use(use, stale[k]);
                Expect.True(Equals(expected, actual), $"object {k}: {actual} and not {expected}");
            }
            Expect.True(Heap.GetStatistics().RepairedFaults > repaired, "no fault was repaired");
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static object? Use<T>(Func<T, object?> use, nint stale) => use(Unsafe.As<nint, T>(ref stale));

    // Addresses at which the objects 0 … Victims - 1 were.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static nint[] Promoted<T>(Func<int, T> make)
        where T : class
    {
        for (int round = 0; ; round++)
        {
            nint[] addresses = Scattered(make);
            Heap.Compact();
            if (addresses.All(address => freehold_current_address(address) != address))
                return addresses;
            GC.Collect();  // finds out that what was pinned is not any more
            Expect.True(round < 3, $"{addresses.Count(address => freehold_current_address(address) == address)} objects did not move");
        }
    }

    // The same, before promotion: their blocks are complete and hold little else.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static nint[] Scattered<T>(Func<int, T> make)
        where T : class
    {
        freehold_refuse_remaps(1);
        var addresses = new nint[Victims];
        byte[][] padding = new byte[Victims * 1_000][];
        // So many that each block is left behind, full, and the thread's chunk is a whole block.
        Pad(padding, 0, 8_000);
        for (int k = 0; k < Victims; k++)
        {
            T victim = make(k);
            addresses[k] = Unsafe.As<T, nint>(ref victim);
            s_keep.Add(victim);
            Pad(padding, 8_000 + k * 500, 500);
        }
        Pad(padding, 8_000 + Victims * 500, padding.Length - 8_000 - Victims * 500);
        foreach (byte[] item in padding)
            Heap.Delete(item);
        Heap.Delete(padding);
        return addresses;
    }

    private static readonly List<object> s_keep = [];

    private static void Pad(byte[][] padding, int from, int count)
    {
        for (int i = from; i < from + count; i++)
            padding[i] = new byte[1_000];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static T Stale<T>(nint address)
        where T : class => Unsafe.As<nint, T>(ref address);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Whole(Mixed mixed) => mixed.IsWhole;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Increment(ref int value) => ++value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Replace(ref Mixed value) => value = new Mixed(value.First, "text", s_live);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CallInterface(ISubject subject, int factor) => subject.Scale(factor);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadStatic() => s_static!.Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadThreadStatic() => t_static!.Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadThrough(Subject holder) => ((Subject)holder.Link!).Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int ReadValue(Subject subject) => subject.Value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static long Many(Subject a, Subject b, Subject c, Subject d, Subject e, Subject f, Subject g, Subject h, int i) =>
        a.Value + b.Wide + c.Value + d.Wide + e.Value + f.Wide + g.Value + h.Wide + i;

    private static IEnumerable<int> Iterate(Subject subject)
    {
        for (int i = 0; i < 5; i++)
            yield return subject.Value + i;
    }

    private static async Task<int> Await(Subject subject)
    {
        await Task.Yield();
        int first = subject.Value;
        await Task.Delay(1);
        return first + subject.Value;
    }

    private static unsafe object FixedText(string text)
    {
        fixed (char* pointer = text)
            return pointer[2] + pointer[text.Length];
    }

    private static long Digest(int[] array)
    {
        long digest = array.Length;
        foreach (int item in array)
            digest = digest * 31 + item;
        return digest;
    }

    private static object SumVector(int[] array)
    {
        Vector<int> sum = default;
        int i = 0;
        for (; i <= array.Length - Vector<int>.Count; i += Vector<int>.Count)
            sum += new Vector<int>(array, i);
        int total = Vector.Sum(sum);
        for (; i < array.Length; i++)
            total += array[i];
        return total;
    }

    private static object SumVector256(int[] array)
    {
        ref int start = ref MemoryMarshal.GetArrayDataReference(array);
        Vector256<int> sum = default;
        nuint i = 0;
        for (; i + 8 <= (nuint)array.Length; i += 8)
            sum += Vector256.LoadUnsafe(ref start, i);
        int total = Vector256.Sum(sum);
        for (; i < (nuint)array.Length; i++)
            total += Unsafe.Add(ref start, i);
        return total;
    }

    // A cursor and an end: when only one of them is made current, the loop runs on.
    private static object RefLoop(int[] array)
    {
        ref int cursor = ref MemoryMarshal.GetArrayDataReference(array);
        ref int end = ref Unsafe.Add(ref cursor, array.Length);
        int sum = 0, steps = 0;
        while (Unsafe.IsAddressLessThan(ref cursor, ref end))
        {
            sum += cursor;
            cursor = ref Unsafe.Add(ref cursor, 1);
            steps++;
        }
        return (sum, steps);
    }

    private static int[] Numbers(int k) => [.. Enumerable.Range(k, 150)];

    private static int Expected(int k) => Enumerable.Range(k, 150).Sum();

    private static async Task DuringAsync()
    {
        nint[] addresses = Scattered(k => new Subject(k));
        Subject subject = Stale<Subject>(addresses[9]);
        int first = subject.Value;
        await Task.Delay(5);
        Heap.Compact();
        await Task.Yield();
        Expect.Equal(first, subject.Value);
        await Task.Run(() => Heap.Compact());
        Expect.Equal(first, subject.Value);
    }

    private static void Handle()
    {
        nint[] addresses = Scattered(k => new Subject(k));
        GCHandle[] handles = [.. addresses.Select(address => GCHandle.Alloc(Stale<Subject>(address)))];
        Heap.Compact();
        for (int k = 0; k < Victims; k++)
        {
            Expect.Equal(k, ((Subject)handles[k].Target!).Value);
            handles[k].Free();
        }
    }

    private static void WeakReferences()
    {
        nint[] addresses = Scattered(k => new Subject(k));
        WeakReference<Subject>[] weak = [.. addresses.Select(address => new WeakReference<Subject>(Stale<Subject>(address)))];
        Heap.Compact();
        for (int k = 0; k < Victims; k++)
        {
            Expect.True(weak[k].TryGetTarget(out Subject? subject));
            Expect.Equal(k, subject!.Value);
        }
    }

    private static void WeakTable()
    {
        nint[] addresses = Scattered(k => new Subject(k));
        var table = new ConditionalWeakTable<Subject, string>();
        for (int k = 0; k < Victims; k++)
            table.Add(Stale<Subject>(addresses[k]), "value " + k);
        Heap.Compact();
        for (int k = 0; k < Victims; k++)
        {
            Expect.True(table.TryGetValue(Stale<Subject>(addresses[k]), out string? value), $"the key {k} is not found");
            Expect.Equal("value " + k, value);
        }
    }

    private static void HashCodes()
    {
        nint[] addresses = Scattered(k => new Subject(k));
        int[] codes = [.. addresses.Select(address => RuntimeHelpers.GetHashCode(Stale<Subject>(address)))];
        Heap.Compact();
        for (int k = 0; k < Victims; k++)
            Expect.Equal(codes[k], RuntimeHelpers.GetHashCode(Stale<Subject>(addresses[k])));
    }

    private static void Deletes()
    {
        nint[] addresses = Promoted(k => new WithFinalizer());
        int before = WithFinalizer.Finalized;
        foreach (nint address in addresses)
        {
            WithFinalizer item = Stale<WithFinalizer>(address);
            s_keep.Remove(item);
            Heap.Delete(item);
            Expect.SecondDeleteThrows(Stale<WithFinalizer>(address));
        }
        Expect.Equal(Victims, WithFinalizer.Finalized - before);
    }

    // Everybody works on the same objects while they move.
    private static void Threads()
    {
        bool done = false;
        Comparison<int> ascending = static (a, b) => a.CompareTo(b);
        var map = new Dictionary<int, Subject>();
        for (int k = 0; k < 500; k++)
            map[k] = new Subject(k);
        Exception? failure = null;
        Thread[] workers = [.. Enumerable.Range(0, 3).Select(id => new Thread(() =>
        {
            try
            {
                var random = new Random(id);
                Span<char> digits = stackalloc char[10];
                while (!Volatile.Read(ref done))
                {
                    int key = random.Next(500);
                    Subject subject = map[key];
                    lock (subject)
                    {
                        long wide = subject.Wide;
                        Expect.Equal(key * 3L, wide);
                        subject.Real += 1;
                        // No garbage: with it these threads would outrun any promotion.
                        Heap.Delete(subject.Text);
                        subject.Text = $"text {key}";
                        Expect.True(key.TryFormat(digits, out int count) && subject.Text.AsSpan().EndsWith(digits[..count]));
                    }
                    Expect.Equal(key, subject.Number);
                    var numbers = new int[150];
                    for (int i = 0; i < numbers.Length; i++)
                        numbers[i] = i * 37 % 150;
                    numbers.AsSpan().Sort(ascending);
                    Expect.Equal(key % 150, numbers[key % 150]);
                    Heap.Delete(numbers);
                }
            }
            catch (Exception exception)
            {
                failure = exception;
            }
        }))];
        System.Array.ForEach(workers, worker => worker.Start());
        for (int round = 0; round < 12; round++)
        {
            nint[] addresses = Promoted(Numbers);
            for (int k = 0; k < Victims; k++)
                Expect.Equal(Expected(k), Stale<int[]>(addresses[k]).Sum());
        }
        Volatile.Write(ref done, true);
        System.Array.ForEach(workers, worker => worker.Join());
        if (failure is not null)
            throw new ContractException(failure.ToString());
    }

    // One repaired fault beside a bare one: a null reference that is caught costs more, so the bare one is measured natively elsewhere.
    private static void Cost()
    {
        nint[] addresses = Promoted(k => new Subject(k));
        const int Times = 20_000;
        long repaired = Heap.GetStatistics().RepairedFaults, start = System.Diagnostics.Stopwatch.GetTimestamp(), total = 0;
        for (int i = 0; i < Times; i++)
            total += ReadValue(Stale<Subject>(addresses[i % Victims]));
        double nanoseconds = System.Diagnostics.Stopwatch.GetElapsedTime(start).TotalNanoseconds / Times;
        Expect.True(Heap.GetStatistics().RepairedFaults - repaired >= Times);
        Console.WriteLine($"repaired fault: {nanoseconds:F0} ns ({total})");
    }
}

/// <summary>Counts its finalizations.</summary>
internal sealed class WithFinalizer
{
    public static int Finalized;

    public int Value = 3;

    ~WithFinalizer() => Interlocked.Increment(ref Finalized);
}
