using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>FREEHOLD_RECLAIM=report: what nothing reaches stays, and is told of with its places of allocation.</summary>
internal static class Leaks
{
    private const int Count = 1000;

    public static IEnumerable<Case> All()
    {
        yield return new("leaks-found", _ => Found());
        yield return new("leaks-reported", _ => Reported());
        yield return new("leaks-sites", arguments => Sites(arguments.Length > 0 ? int.Parse(arguments[0]) : 2_000_000));
        yield return new("leaks-sites-large", _ => SitesOfLarge());
        yield return new("leaks-exact", _ => Exact());
        yield return new("leaks-threads", _ => Threads());
        yield return new("leaks-event", _ => Event());
        yield return new("leaks-exit", _ => Exit());
        yield return new("leaks-auto", _ => Automatic());
    }

    private class Forgotten
    {
        public long Value = 42;
        public long A = 1, B = 2, C = 3, D = 4, E = 5;
    }

    private sealed class Finalizable
    {
        public static int Finalized;
        public readonly Forgotten Needed = new();

        ~Finalizable() => Finalized++;
    }

    private sealed class AtExit
    {
        public long Value;
    }

    private static readonly List<object> s_kept = [];
    private static readonly List<object> s_deletedAtExit = [];

    // Else the object might be one on the stack.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Use(object made) => Expect.True(made is not string);

    private static Leak? Of(Type type) => Heap.FindLeaks().Leaks.SingleOrDefault(leak => leak.Type == type);

    private static void Found()
    {
        WeakReference weak = Forget();
        for (int i = 0; i < 3; i++)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }

        for (int i = 0; i < 2; i++)
        {
            // Half of them were deleted, and each Finalizable has one.
            Leak forgotten = Of(typeof(Forgotten))!, finalizable = Of(typeof(Finalizable))!;
            Expect.Equal(Count + (Count / 2), forgotten.Count);
            Expect.Equal(forgotten.Count * 64, forgotten.Bytes);
            Expect.Equal(Count, finalizable.Count);
            Expect.Equal(0, Finalizable.Finalized);
            Expect.True(weak.IsAlive);
        }

        LeakReport report = Heap.FindLeaks();
        Expect.Equal(report.Leaks.Sum(leak => leak.Bytes), report.Bytes);
        Expect.Equal(report.Leaks.Sum(leak => leak.Count), report.Count);
        for (int i = 1; i < report.Leaks.Count; i++)
            Expect.True(report.Leaks[i - 1].Bytes >= report.Leaks[i].Bytes);
    }

    // The text, and what it was made of, are no leaks.
    private static void Reported()
    {
        Forget();
        string? last = null;
        for (int i = 0; i < 3; i++)
        {
            var text = new StringWriter();
            Heap.ReportLeaks(text);
            Expect.True(last is null || text.ToString().Contains(typeof(Finalizable).ToString(), StringComparison.Ordinal), last);
            last = text.ToString();
        }
        Expect.True(!last!.Contains("x System.Leak", StringComparison.Ordinal), last);
        Expect.True(!last.Contains("x System.Diagnostics.StackFrame", StringComparison.Ordinal), last);
    }

    // A weak reference to the last.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference Forget()
    {
        WeakReference? weak = null;
        for (int i = 0; i < Count; i++)
        {
            var forgotten = new Forgotten();
            Use(forgotten);
            weak = i == Count - 1 ? new WeakReference(forgotten) : null;
            if (i % 2 == 0)
                Heap.Delete(forgotten);
            Use(new Finalizable());
            s_kept.Add(new object());
        }
        return weak!;
    }

    // Three of four come from one place, all along: they fill pages with a period.
    private static void Sites(int objects)
    {
        Spread(objects);
        Leak leak = Of(typeof(Forgotten))!;
        Expect.True(leak.Count >= objects / 2 && leak.Count <= objects, leak.ToString());
        long three = leak.Sites.Where(site => site.StackTrace.Contains(nameof(MakeThree), StringComparison.Ordinal)).Sum(site => site.Bytes);
        long one = leak.Sites.Where(site => site.StackTrace.Contains(nameof(MakeOne), StringComparison.Ordinal)).Sum(site => site.Bytes);
        Expect.True(Math.Abs(three + one - leak.Bytes) <= leak.Sites.Count, $"{three} + {one} of {leak.Bytes}");
        // A quarter of the three was deleted. Five standard deviations of a share of so many samples.
        const double Share = 2.25 / 3.25;
        double samples = leak.Sites.Sum(site => site.Samples), deviation = Math.Sqrt(Share * (1 - Share) / samples);
        Expect.True(samples > 20 && Math.Abs(((double)three / leak.Bytes) - Share) < 5 * deviation, $"{three} and {one}, {samples} samples");
        foreach (LeakSite site in leak.Sites)
        {
            Expect.True(site.Samples > 0, site.ToString());
            Expect.True(site.StackTrace.Contains(nameof(Spread), StringComparison.Ordinal), site.StackTrace);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Spread(int objects)
    {
        for (int i = 0; i < objects / 4; i++)
        {
            MakeThree(i);
            MakeOne();
        }
    }

    // A half of what is made is deleted at once, so that there is something to compact.
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeThree(int number)
    {
        for (int i = 0; i < 3; i++)
        {
            var made = new Forgotten();
            Use(made);
            if (number / 100 % 4 == 0)
                Heap.Delete(made);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeOne() => Use(new Forgotten());

    private static void SitesOfLarge()
    {
        MakeArrays();
        Leak leak = Of(typeof(long[]))!;
        Expect.True(leak.Count >= 30, leak.ToString());
        LeakSite site = leak.Sites.First();
        Expect.True(site.StackTrace.Contains(nameof(MakeArrays), StringComparison.Ordinal), site.StackTrace);
        Expect.True(site.Bytes > leak.Bytes / 100 * 95, site.ToString());
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void MakeArrays()
    {
        for (int i = 0; i < 30; i++)
            Use(new long[(i + 1) * 20_000]);
    }

    private static void Exact()
    {
        for (int i = 0; i < Count; i++)
            MakeThree(100 + (i % 2));
        MakeOne();
        Leak leak = Of(typeof(Forgotten))!;
        Expect.Equal(3 * Count + 1, leak.Count);
        Expect.Equal(3 * Count, Sum(nameof(MakeThree)));
        Expect.Equal(1, Sum(nameof(MakeOne)));
        Expect.True(leak.Sites.All(site => site.Samples == 0));
        Expect.Equal(leak.Bytes, leak.Sites.Sum(site => site.Bytes));

        // The compiler may repeat the body of a loop, and each time is a place.
        long Sum(string name) => leak.Sites.Where(site => site.StackTrace.Contains(name, StringComparison.Ordinal)).Sum(site => site.Count);
    }

    // Reports beside threads that allocate, delete and forget: what is kept is never in one.
    private static void Threads()
    {
        bool ends = false;
        var threads = Enumerable.Range(0, 3).Select(number => new Thread(() =>
        {
            var kept = new List<Subject>();
            for (int i = 0; !Volatile.Read(ref ends); i++)
            {
                kept.Add(new Subject(number));
                // Few leaks: the others are deleted.
                MakeThree(i < 10_000 ? i : 0);
                if (kept.Count > 5000)
                {
                    foreach (Subject subject in kept)
                    {
                        Expect.Equal(number, subject.Value);
                        Heap.Delete(subject);
                    }
                    kept.Clear();
                }
            }
            Expect.True(kept.TrueForAll(subject => subject.Value == number));
        })).ToArray();
        foreach (Thread thread in threads)
            thread.Start();
        for (int i = 0; i < 8; i++)
            Expect.Equal(null, Of(typeof(Subject)));
        Volatile.Write(ref ends, true);
        foreach (Thread thread in threads)
            thread.Join();
    }

    private static void Event()
    {
        long told = 0, afterThrowing = 0, removed = 0;
        EventHandler<LeakReport> toBeRemoved = (_, _) => Interlocked.Increment(ref removed);
        Heap.LeaksFound += toBeRemoved;
        Heap.LeaksFound += (_, _) => throw new InvalidOperationException("a handler of a test");
        Heap.LeaksFound += (_, report) =>
        {
            Interlocked.Increment(ref afterThrowing);
            if (report.Leaks.Any(leak => leak.Type == typeof(Forgotten) && leak.Count > 0))
                Interlocked.Increment(ref told);
        };
        Heap.LeaksFound -= toBeRemoved;
        Spread(800_000);
        Expect.Eventually(() => Interlocked.Read(ref told) != 0);
        Expect.True(Interlocked.Read(ref afterThrowing) != 0);
        Expect.Equal(0, Interlocked.Read(ref removed));
    }

    private static void Exit()
    {
        for (int i = 0; i < 7; i++)
        {
            Use(new AtExit { Value = i });
            s_deletedAtExit.Add(new Subject(i));
        }
        AppDomain.CurrentDomain.ProcessExit += (_, _) =>
        {
            foreach (object subject in s_deletedAtExit)
                Heap.Delete(subject);
            s_deletedAtExit.Clear();
        };
    }

    // Without the knob: no places. What is lost may be gone, but what was found is still told of.
    private static void Automatic()
    {
        MakeOne();
        foreach (Leak leak in Heap.FindLeaks().Leaks)
            Expect.Equal(0, leak.Sites.Count);
    }
}
