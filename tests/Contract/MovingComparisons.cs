using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Two names of one object are the same to whatever compares references, on whatever way it is called.</summary>
internal static unsafe partial class Moving
{
    private delegate object? Exchange(ref object? location, object? value, object? comparand);

    private delegate T ExchangeOf<T>(ref T location, T value, T comparand);

    private delegate bool CompareReferences(ref readonly int left, ref readonly int right);

    private delegate nint SubtractReferences(ref readonly int left, ref readonly int right);

    private delegate void* MakePointer(ref int reference);

    private delegate bool CompareSpans(Span<int> left, Span<int> right);

    private const int SpanLength = 12;

    private static IEnumerable<Case> Comparisons()
    {
        // Of objects.
        yield return Same("instruction", (a, b) => (object)a == b);
        yield return Same("reference-equals", (a, b) => ReferenceEquals(a, b));
        yield return Same("reference-equals-delegate", (a, b) => ((Func<object?, object?, bool>)ReferenceEquals)(a, b));
        yield return Same("reference-equals-pointer", ReferenceEqualsByPointer);
        yield return Same("reference-equals-reflection", (a, b) => (bool)typeof(object).GetMethod(nameof(ReferenceEquals))!.Invoke(null, [a, b])!);
        yield return Same("equals", (a, b) => a.Equals(b) && Equals(a, b));
        yield return Same("runtime-helpers", (a, b) => RuntimeHelpers.Equals(a, b));
        yield return Same("comparer-default", (a, b) => EqualityComparer<Subject>.Default.Equals(a, b) && EqualityComparer<object>.Default.Equals(a, b));
        yield return Same("comparer-reference", (a, b) => ReferenceEqualityComparer.Instance.Equals(a, b));
        yield return Same("comparer-structural", (a, b) => StructuralComparisons.StructuralEqualityComparer.Equals(new object[] { a, 1 }, new object[] { b, 1 }));
        yield return Same("generic-virtual", (a, b) => s_comparisons.Of(a, b) && s_comparisons.Of<object>(a, b));
        yield return Same("hash-code", (a, b) => RuntimeHelpers.GetHashCode(a) == RuntimeHelpers.GetHashCode(b));
        yield return Same("words", (a, b) => Unsafe.As<Subject, nint>(ref a) == Unsafe.As<Subject, nint>(ref b) && !(Unsafe.As<Subject, ulong>(ref a) > Unsafe.As<Subject, ulong>(ref b)));
        yield return Same("words-by-pointer", SameWords);
        yield return Same("weak-reference", (a, b) => new WeakReference<Subject>(a).TryGetTarget(out Subject? target) && target == b);

        // Of what contains them.
        yield return Same("boxed-one", (a, b) => RuntimeHelpers.Equals(new One { Object = a }, new One { Object = b }));
        yield return Same("boxed-pair", (a, b) => RuntimeHelpers.Equals(new Couple { Object = a, Number = 1 }, new Couple { Object = b, Number = 1 }));
        yield return Same("boxed-mixed", (a, b) => RuntimeHelpers.Equals(new Nested(a, 2), new Nested(b, 2)));
        yield return Same("boxed-delegate", (a, b) => ((Func<object?, object?, bool>)RuntimeHelpers.Equals)(new Couple { Object = a }, new Couple { Object = b }));
        yield return Same("value-type", (a, b) => new Couple { Object = a, Number = 1 }.Equals(new Couple { Object = b, Number = 1 }) && new Nested(a, 2).Equals(new Nested(b, 2)));
        yield return Same("value-type-hash-code", (a, b) => new One { Object = a }.GetHashCode() == new One { Object = b }.GetHashCode() && new Couple { Object = a }.GetHashCode() == new Couple { Object = b }.GetHashCode());
        yield return Same("value-type-comparer", (a, b) => EqualityComparer<Couple>.Default.Equals(new Couple { Object = a }, new Couple { Object = b }) && new HashSet<One> { new() { Object = a } }.Contains(new One { Object = b }));
        yield return Same("value-type-span", (a, b) => new Couple[] { new() { Object = a } }.AsSpan().SequenceEqual([new Couple { Object = b }]) && System.Array.IndexOf([new Couple { Object = a }], new Couple { Object = b }) == 0);
        yield return Same("tuple", (a, b) => (a, 1).Equals((b, 1)) && (a, 1).GetHashCode() == (b, 1).GetHashCode() && Tuple.Create(a, 1).Equals(Tuple.Create(b, 1)));
        yield return Same("record", (a, b) => new Record(a, 1) == new Record(b, 1) && new RecordValue(a, 1) == new RecordValue(b, 1) && new RecordValue(a, 1).GetHashCode() == new RecordValue(b, 1).GetHashCode());
        yield return Same("anonymous-type", (a, b) => new { a, N = 1 }.Equals(new { a = b, N = 1 }));
        yield return Same("delegate-target", (a, b) => { Func<int> f = a.Direct, g = b.Direct; return f == g && f.GetHashCode() == g.GetHashCode() && new HashSet<Func<int>> { f }.Contains(g); });
        yield return Same("delegate-remove", (a, b) => { Func<int> f = a.Direct; f += a.Twice; return (Func<int>?)(f - b.Direct) is { } rest && rest == b.Twice && rest.GetInvocationList().Length == 1; });
        yield return Same("delegate-twice", (a, b) => { Func<int>? f = null; f += a.Direct; f += b.Direct; f += a.Direct; return (f - (Func<int>)a.Direct - (Func<int>)b.Direct - (Func<int>)b.Direct) is null; });

        // In collections.
        yield return Same("array-index", (a, b) => System.Array.IndexOf(new object[] { s_live, a }, b) == 1 && System.Array.IndexOf([null, a], b) == 1 && System.Array.LastIndexOf([null, a], b) == 1 && ((IList)new object[] { a }).Contains(b));
        yield return Same("list", (a, b) => new List<object> { s_live, a }.IndexOf(b) == 1 && new List<Subject> { a }.Remove(b) && new ArrayList { a }.Contains(b) && new LinkedList<Subject>([a]).Contains(b) && new Queue<Subject>([a]).Contains(b));
        yield return Same("span", (a, b) => new[] { a }.AsSpan().SequenceEqual([b]) && Enumerable.SequenceEqual([a], [b]) && new object[] { a }.Contains(b) && Enumerable.Union([a], [b]).Count() == 1);
        yield return Same("dictionary", (a, b) => new Dictionary<object, int> { [a] = 1 }.ContainsKey(b) && new HashSet<object>(ReferenceEqualityComparer.Instance) { a }.Contains(b) && new ConcurrentDictionary<Subject, int> { [a] = 1 }.ContainsKey(b) && new Hashtable { [a] = 1 }.Contains(b));
        yield return Same("immutable", (a, b) => ImmutableArray.Create(a).Contains(b) && ImmutableHashSet.Create<object>(a).Contains(b) && ImmutableDictionary<object, int>.Empty.Add(a, 1).ContainsKey(b) && ImmutableList.Create(a).Remove(b).IsEmpty);
        yield return Same("weak-table", (a, b) => { var table = new ConditionalWeakTable<object, object> { { a, s_live } }; return table.TryGetValue(b, out object? found) && found == s_live; });
        yield return Same("async-local", (a, b) => { int changes = 0; var local = new AsyncLocal<object?>(_ => changes++) { Value = a }; local.Value = b; return changes == 1; });
        yield return OfArrays("memory", (a, b) => new Memory<int>(a, 1, 2).Equals(new Memory<int>(b, 1, 2)) && new ArraySegment<int>(a, 1, 2) == new ArraySegment<int>(b, 1, 2) && ImmutableCollectionsMarshal.AsImmutableArray(a) == ImmutableCollectionsMarshal.AsImmutableArray(b) && new ReadOnlyMemory<int>(a).GetHashCode() == new ReadOnlyMemory<int>(b).GetHashCode());

        // Exchanges.
        yield return Same("exchange", (a, b) => { object? place = a; return Interlocked.CompareExchange(ref place, s_live, b) == b && place == s_live; });
        yield return Same("exchange-null", (a, b) => { object? place = a; return Interlocked.CompareExchange(ref place, null, b) == b && place is null; });
        yield return Same("exchange-generic", (a, b) => { Subject? place = a; return Interlocked.CompareExchange(ref place, null, b) == b && place is null; });
        yield return Same("exchange-delegate", (a, b) => { object? place = a; Exchange exchange = Interlocked.CompareExchange; return exchange(ref place, s_live, b) == b && place == s_live; });
        yield return Same("exchange-pointer", ExchangeByPointer);
        yield return Same("exchange-generic-delegate", (a, b) => { Subject place = a; ExchangeOf<Subject> exchange = Interlocked.CompareExchange; return exchange(ref place, s_other, b) == b && place == s_other; });
        yield return Same("exchange-generic-pointer", ExchangeByGenericPointer);
        yield return Same("exchange-generic-virtual", (a, b) => { Subject place = a; return s_comparisons.Exchange(ref place, s_other, b) == b && place == s_other; });
        yield return Same("exchange-reflection", (a, b) => ExchangeByReflection(a, b));

        // Of references into them.
        yield return OfSpans("reference", InOrder);
        yield return OfSpans("reference-delegate", (a, b) => InOrderByDelegates(a, b, Unsafe.AreSame, Unsafe.IsAddressLessThan, Unsafe.IsAddressGreaterThan, Unsafe.ByteOffset));
        yield return OfSpans("reference-pointer", InOrderByPointers);
#if NET10_0_OR_GREATER
        yield return OfSpans("reference-or-equal", InOrderOrSame);
#endif
        yield return OfSpans("span-equality", (a, b) => a[1..3] == b[1..3] && a.Overlaps(b[2..], out int offset) && offset == 2);
        yield return OfSpans("pointer-delegate", PointersByDelegate);
        yield return new("moving-compare-sequence", _ => SequenceEqualsItself());

        // Types, which do not move unless they are of a class of the program's own.
        yield return new("moving-compare-types", _ => Types());
        yield return new("moving-compare-types-folded", arguments => Expect.Equal(1, KindOf<int>() + KindOf(arguments.GetType(), typeof(string))));
        yield return OfNames("type-delegator", i => new Delegated(i), (a, b) => (Type)a == b && !((Type)a != b) && ((Func<Type?, Type?, bool>)((x, y) => x == y))(a, b));
    }

    private static readonly Subject s_other = new(-1);
    private static readonly GenericComparisons s_comparisons = Environment.TickCount64 > 0 ? new GenericComparisons() : new OtherComparisons();

    private static Case Same(string name, Func<Subject, Subject, bool> same) => OfNames(name, i => new Subject(i), same);

    private static Case OfArrays(string name, Func<int[], int[], bool> same) => OfNames(name, i => new int[10 + i % 5], same);

    // `same` for an old name and the current one, on either side; not for two objects.
    private static Case OfNames<T>(string name, Func<int, T> make, Func<T, T, bool> same)
        where T : class
    {
        return new("moving-compare-" + name, _ =>
        {
            nint[] stale = Promoted(make);
            for (int k = 0; k < Victims; k++)
            {
                nint current = freehold_current_address(stale[k]);
                Expect.True(Ask(same, stale[k], current) && Ask(same, current, stale[k]), $"object {k} is the same as itself");
                Expect.True(Ask(same, current, current), $"object {k} is the same under one name");
                int other = (k + 1) % Victims;
                Expect.True(!Ask(same, stale[k], freehold_current_address(stale[other])) && !Ask(same, stale[other], stale[k]), $"objects {k} and {other} are two");
            }
        });
    }

    // Spans over one array under two names; nothing reads the array, which would make them current.
    private static Case OfSpans(string name, CompareSpans same)
    {
        return new("moving-compare-" + name, _ =>
        {
            nint[] stale = Promoted(_ => new int[SpanLength]);
            for (int k = 0; k < Victims; k++)
            {
                nint current = freehold_current_address(stale[k]);
                Expect.True(same(At<int>(stale[k]), At<int>(current)) && same(At<int>(current), At<int>(stale[k])), $"span {k} is the same as itself");
                Expect.True(!same(At<int>(stale[k]), At<int>(freehold_current_address(stale[(k + 1) % Victims]))), $"span {k} is no other");
            }
        });
    }

    private static Span<T> At<T>(nint array) => MemoryMarshal.CreateSpan(ref Unsafe.As<byte, T>(ref *(byte*)(array + 2 * sizeof(nint))), SpanLength);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool Ask<T>(Func<T, T, bool> same, nint left, nint right)
        where T : class => same(Unsafe.As<nint, T>(ref left), Unsafe.As<nint, T>(ref right));

    private static bool ExchangeByReflection(object a, object b)
    {
        MethodInfo exchange = typeof(Interlocked).GetMethod(nameof(Interlocked.CompareExchange), [typeof(object).MakeByRefType(), typeof(object), typeof(object)])!;
        object?[] arguments = [a, s_live, b];
        object? seen = exchange.Invoke(null, arguments);
        return seen == b && arguments[0] == s_live;
    }

    private static bool InOrder(Span<int> a, Span<int> b) =>
        Unsafe.AreSame(ref a[1], ref b[1]) && !Unsafe.AreSame(ref a[1], ref b[2])
        && Unsafe.IsAddressLessThan(ref a[1], ref b[2]) && !Unsafe.IsAddressLessThan(ref a[1], ref b[1])
        && Unsafe.IsAddressGreaterThan(ref a[2], ref b[1]) && !Unsafe.IsAddressGreaterThan(ref a[1], ref b[1])
        && Unsafe.ByteOffset(ref a[1], ref b[3]) == 8;

#if NET10_0_OR_GREATER
    // Directly, by a delegate and by a pointer.
    private static bool InOrderOrSame(Span<int> a, Span<int> b)
    {
        CompareReferences atMost = Unsafe.IsAddressLessThanOrEqualTo, atLeast = Unsafe.IsAddressGreaterThanOrEqualTo;
        delegate*<ref readonly int, ref readonly int, bool> atMostByPointer = &Unsafe.IsAddressLessThanOrEqualTo<int>, atLeastByPointer = &Unsafe.IsAddressGreaterThanOrEqualTo<int>;
        return Unsafe.IsAddressLessThanOrEqualTo(ref a[1], ref b[1]) && Unsafe.IsAddressLessThanOrEqualTo(ref a[1], ref b[2]) && !Unsafe.IsAddressLessThanOrEqualTo(ref a[2], ref b[1])
            && Unsafe.IsAddressGreaterThanOrEqualTo(ref a[1], ref b[1]) && Unsafe.IsAddressGreaterThanOrEqualTo(ref a[2], ref b[1]) && !Unsafe.IsAddressGreaterThanOrEqualTo(ref a[1], ref b[2])
            && atMost(ref a[1], ref b[1]) && !atMost(ref a[2], ref b[1]) && atLeast(ref a[1], ref b[1]) && !atLeast(ref a[1], ref b[2])
            && atMostByPointer(ref a[1], ref b[1]) && !atMostByPointer(ref a[2], ref b[1]) && atLeastByPointer(ref a[1], ref b[1]) && !atLeastByPointer(ref a[1], ref b[2]);
    }
#endif

    private static bool InOrderByDelegates(Span<int> a, Span<int> b, CompareReferences same, CompareReferences less, CompareReferences greater, SubtractReferences offset) =>
        same(ref a[1], ref b[1]) && !same(ref a[1], ref b[2])
        && less(ref a[1], ref b[2]) && !less(ref a[1], ref b[1])
        && greater(ref a[2], ref b[1]) && !greater(ref a[1], ref b[1])
        && offset(ref a[1], ref b[3]) == 8;

    private static bool InOrderByPointers(Span<int> a, Span<int> b)
    {
        delegate*<ref readonly int, ref readonly int, bool> same = &Unsafe.AreSame<int>, less = &Unsafe.IsAddressLessThan<int>, greater = &Unsafe.IsAddressGreaterThan<int>;
        delegate*<ref readonly int, ref readonly int, nint> offset = &Unsafe.ByteOffset<int>;
        return same(ref a[1], ref b[1]) && !same(ref a[1], ref b[2])
            && less(ref a[1], ref b[2]) && !less(ref a[1], ref b[1])
            && greater(ref a[2], ref b[1]) && !greater(ref a[1], ref b[1])
            && offset(ref a[1], ref b[3]) == 8;
    }

#pragma warning disable CS8500 // the address of a reference
    private static bool SameWords(Subject a, Subject b)
    {
        Subject* first = &a, second = &b;
        return *(nint*)first == *(nint*)second && *(long*)first - *(long*)second == 0;
    }
#pragma warning restore CS8500

    private static bool ReferenceEqualsByPointer(object a, object b)
    {
        delegate*<object?, object?, bool> compare = &ReferenceEquals;
        return compare(a, b);
    }

    private static bool ExchangeByPointer(object a, object b)
    {
        object? place = a;
        delegate*<ref object?, object?, object?, object?> exchange = &Interlocked.CompareExchange;
        return exchange(ref place, null, b) == b && place is null;
    }

    private static bool ExchangeByGenericPointer(Subject a, Subject b)
    {
        Subject place = a;
        delegate*<ref Subject, Subject, Subject, Subject> exchange = &Interlocked.CompareExchange<Subject>;
        return exchange(ref place, s_other, b) == b && place == s_other;
    }

#pragma warning disable CS9198 // the parameter is 'ref readonly', and may be changed by nobody here
    private static bool PointersByDelegate(Span<int> a, Span<int> b)
    {
        MakePointer make = Unsafe.AsPointer;
        delegate*<ref int, void*> made = &Unsafe.AsPointer<int>;
        return make(ref a[1]) == made(ref b[1]) && make(ref a[1]) == Unsafe.AsPointer(ref b[1]);
    }
#pragma warning restore CS9198

    // Where no Equals says so, a span equals itself because it is the same.
    private static void SequenceEqualsItself()
    {
        nint[] objects = Promoted(_ => (Unequal[])[.. Enumerable.Range(0, SpanLength).Select(_ => new Unequal())]), values = Promoted(_ => new UnequalValue[SpanLength]);
        for (int k = 0; k < Victims; k++)
        {
            Expect.True(Equal(At<Unequal>(objects[k]), At<Unequal>(freehold_current_address(objects[k]))), "a span of objects equals itself");
            Expect.True(Equal(At<UnequalValue>(values[k]), At<UnequalValue>(freehold_current_address(values[k]))), "a span of values equals itself");
            Expect.True(!Equal(At<UnequalValue>(values[k]), new UnequalValue[SpanLength]), "another span differs");
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static bool Equal<T>(Span<T> left, Span<T> right)
            where T : IEquatable<T> => left.SequenceEqual(right) && ((ReadOnlySpan<T>)left).SequenceEqual(right);
    }

    private static void Types()
    {
        var types = new List<Type>();
        foreach (Type definition in new[] { typeof(Dictionary<,>), typeof(Func<,,,>), typeof(GenericSubject<,>), typeof(List<>) })
        {
            types.Add(definition);
            types.AddRange(definition.GetGenericArguments());
            types.AddRange(definition.GetGenericArguments().Select(parameter => parameter.MakeByRefType()));
            foreach (byte[] item in Enumerable.Range(0, 10_000).Select(_ => new byte[100]).ToArray())
                Heap.Delete(item);
        }
        types.AddRange(typeof(GenericSubject<,>).GetMethod(nameof(GenericSubject<int, int>.Method))!.GetGenericArguments());
        types.Add(typeof(int).MakePointerType().MakePointerType());
        Expect.True(types.Count > 20, "there are types");
        object[] held = [.. types];
        var places = new Dictionary<Type, int>();
        foreach (Type type in types)
            places[type] = places.Count;
        for (int round = 0; round < 3; round++)
        {
            Heap.Compact();
            for (int i = 0; i < held.Length; i++)
            {
                Type first = types[i], second = (Type)held[i];
                Expect.True(SameTypes(first, second), $"{first} is itself");
                Expect.True(!SameTypes(first, types[(i + 1) % held.Length]), $"{first} is no other");
                Expect.Equal(places[first], places[second]);
                object? place = first;
                Expect.True(Interlocked.CompareExchange(ref place, null, second) == (object)first && place is null, $"{first} is exchanged for itself");
                Expect.Throws<ArgumentException>(() => Heap.Delete(first));
            }
        }
    }

    // Known when it is compiled: what comes behind the question is not in the executable, which a test of tests/Integration.Tests looks for.
    private static int KindOf<T>() => typeof(T) == typeof(int) ? 1 : OnlyIfTypesDoNotFold();

    // Known at run time only.
    private static int KindOf(Type type, Type other) => type == other ? 2 : OnlyIfTypesDiffer();

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OnlyIfTypesDoNotFold() => Environment.ProcessId;

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int OnlyIfTypesDiffer() => Math.Min(0, Environment.ProcessId);

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static bool SameTypes(Type left, Type right) => left == right && !(left != right) && left.Equals(right) && ReferenceEquals(left, right);

    private struct One
    {
        public object Object;
    }

    private struct Couple
    {
        public object Object;
        public long Number;
    }

    // References in more than one run, numbers between them.
    private struct Nested(object value, int number)
    {
        public int Number = number;
        public Couple First = new() { Object = value, Number = number };
        public byte Small = 7;
        public One Second = new() { Object = value };
        public Guid Bytes = new(number, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
        public object? Third = value;
        public short Last = 9;
    }

    private sealed record Record(object Object, int Number);

    private readonly record struct RecordValue(object Object, int Number);

    private sealed class Unequal : IEquatable<Unequal>
    {
        public bool Equals(Unequal? other) => false;

        public override bool Equals(object? other) => false;

        public override int GetHashCode() => 1;
    }

    private struct UnequalValue : IEquatable<UnequalValue>
    {
        public long Value = 1;

        public UnequalValue()
        {
        }

        public readonly bool Equals(UnequalValue other) => false;

        public override readonly bool Equals(object? other) => false;

        public override readonly int GetHashCode() => (int)Value;
    }

    private sealed class Delegated(int number) : TypeDelegator(typeof(int))
    {
        public int Number => number;

        public override bool Equals(Type? other) => false;

        public override bool Equals(object? other) => false;

        public override int GetHashCode() => 3;
    }

    private sealed class GenericSubject<TFirst, TSecond>
    {
        public void Method<TThird, TFourth>(TFirst first, ref TSecond second, TThird third, TFourth[] fourth) => s_sink = (first, second, third, fourth);
    }

    private class GenericComparisons
    {
        public virtual bool Of<T>(T left, T right)
            where T : class => left == right;

        public virtual T Exchange<T>(ref T place, T value, T comparand)
            where T : class => Interlocked.CompareExchange(ref place, value, comparand);
    }

    private sealed class OtherComparisons : GenericComparisons
    {
        public override bool Of<T>(T left, T right) => !base.Of(left, right);

        public override T Exchange<T>(ref T place, T value, T comparand) => place;
    }
}
