using System.Runtime.CompilerServices;

namespace Freehold.Contract;

/// <summary>Uses of an object with fields: fields, calls, casts, locks, hash codes.</summary>
internal static class UsesOfObjects
{
    private static readonly object s_live = new List<int> { 1 };

    // Written by every store case: a store into a dead object must not be optimised away.
    private static object? s_sink;

    public static IEnumerable<Case> All()
    {
        yield return Make("field-read-int", s => s.Value);
        yield return Make("field-read-long", s => s.Wide);
        yield return Make("field-read-double", s => s.Real);
        yield return Make("field-read-volatile", s => s.Version);
        yield return Make("field-read-reference", s => s.Link is null);
        yield return Make("field-read-struct", s => Whole(s.Mixed));
        yield return Make("field-write-int", s => s.Value = 5);
        yield return Make("field-write-double", s => s.Real = 1.5);
        yield return Make("field-write-volatile", s => s.Version = 5);
        yield return Make("field-write-null", s => s.Link = null);
        yield return Make("field-write-reference", s => s.Link = s_live, typeof(NullReferenceException));
        yield return Make("field-write-string", s => s.Text = "literal");
        yield return Make("field-write-struct", s => { s.Mixed = new Mixed(8, "text", s_live); return 0; });
        yield return Make("field-increment", s => ++s.Value);
        yield return Make("field-by-reference", s => Increment(ref s.Value));
        yield return Make("field-struct-by-reference", s => { Replace(ref s.Mixed); return 0; });
        yield return Make("field-struct-member", s => s.Mixed.Last);
        yield return Make("field-interlocked-add", s => Interlocked.Add(ref s.Value, 3));
        yield return Make("field-interlocked-exchange", s => Interlocked.Exchange(ref s.Link, s_live) is null or List<int>);
        yield return Make("field-interlocked-compare-exchange", s => Interlocked.CompareExchange(ref s.Link, s_live, null) is null or List<int>);
        yield return Make("field-interlocked-compare-exchange-string", s => Interlocked.CompareExchange(ref s.Text, "new", null) is null or "new");
        yield return Make("field-interlocked-compare-exchange-int", s => Interlocked.CompareExchange(ref s.Value, 4, -1));
        yield return Make("field-interlocked-read", s => Interlocked.Read(ref s.Wide));
        yield return Make("field-volatile-write", s => { Volatile.Write(ref s.Link, s_live); return 0; });
        yield return Make("call-direct", s => s.Direct());
        yield return Make("call-virtual", s => s.Twice());
        yield return Make("call-property", s => s.Number);
        yield return Make("call-interface", s => CallInterface(s, 3));
        yield return Make("call-interface-polymorphic", s => CallInterface(new OtherSubject(), 1) + CallInterface(new Third(), 1) + CallInterface(s, 3));
        yield return Make("call-generic-virtual", s => s.Generic<string>() + s.Generic<int>());
        yield return Make("call-get-type", s => s.GetType().Name);
        yield return Make("call-to-string", s => s.ToString());
        yield return Make("call-equals", s => s.Equals(s_live));
        yield return Make("cast-class", s => (object)s is DerivedSubject, null);
        yield return Make("cast-exact", s => Cast<DerivedSubject>(s).Length, null);
        yield return Make("cast-interface", s => Cast<ISubject>(s).Length, null);
        yield return Make("cast-is-not", s => Is<IUnrelated>(s), null);
        yield return Make("cast-is-interface", s => Is<ISubject>(s), null);
        yield return Make("cast-generic-interface", s => Is<IEnumerable<string>>(s), null);
        yield return Make("array-store", s => { var array = new ISubject[2]; array[1] = s; return array[1].Number; }, typeof(NullReferenceException));
        yield return Make("lock", s =>
        {
            lock (s)
                return 3;
        }, typeof(ArgumentNullException));
        yield return Make("lock-try", s =>
        {
            bool taken = Monitor.TryEnter(s);
            if (taken)
                Monitor.Exit(s);
            return taken;
        }, typeof(ArgumentNullException));
        yield return Make("hash-code", s => RuntimeHelpers.GetHashCode(s) == RuntimeHelpers.GetHashCode(s), null);
        yield return Make("hash-set", s => new HashSet<object> { s_live }.Contains(s), null);
        yield return Make("memberwise", s => RuntimeHelpers.GetHashCode(s) != 0 && ReferenceEquals(s, s), null);
        yield return Make("pattern", s => s is { Value: > 3, Link: null } ? 1 : 2, null);
        yield return Make("loop", s =>
        {
            long total = 0;
            for (int i = 0; i < 1_000; i++)
                total += s.Value ^ i;
            return total;
        });
        yield return Make("delegate-to-method", s => new Func<int>(s.Direct)(), typeof(ArgumentException));
        yield return Make("delegate-to-virtual", s => new Func<int>(s.Twice)());
        yield return Make("weak-table", s => new ConditionalWeakTable<object, object>().TryGetValue(s, out _), typeof(ArgumentNullException));
    }

    private static Case Make(string name, Func<Subject, object?> use, Type? onNull) =>
        new Use<Subject>(name, Unsafe.SizeOf<Mixed>() + 64, i => i % 2 == 0 ? new DerivedSubject(i) : new Subject(i), s => { object? result = use(s); s_sink = result; return result; }, onNull).Case;

    private static Case Make(string name, Func<Subject, object?> use) => Make(name, use, typeof(NullReferenceException));

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Whole(Mixed mixed) => mixed.IsWhole;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Increment(ref int value) => ++value;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Replace(ref Mixed value) => value = new Mixed(value.First, "text", s_live);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int CallInterface(ISubject subject, int factor) => subject.Scale(factor);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static string Cast<T>(object value)
        where T : class
    {
        try
        {
            return ((T)value).ToString()!.Length > 0 ? "yes" : "no";
        }
        catch (InvalidCastException)
        {
            return "invalid";
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Is<T>(object value)
        where T : class => value is T;

    private sealed class Third : ISubject
    {
        public int Number => 7;

        public int Scale(int factor) => factor + 7;
    }
}
