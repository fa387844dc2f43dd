using System.Collections;
using System.Collections.Frozen;
using System.Collections.Immutable;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;

namespace Freehold.Differential.Programs;

/// <summary>Members that .NET 10 brought which read, compare, pin or reinterpret memory: spans with comparers, generic handles, generic accessors, views of collections.</summary>
internal static class NewMembers
{
#if NET10_0_OR_GREATER
    private sealed class Box<T>(T value)
    {
        private T _value = value;

        private List<T> _history = [];

#pragma warning disable CS0414 // read by an accessor
        private static int s_count = 7;
#pragma warning restore CS0414

        private TOther Swap<TOther>(T value, TOther other)
        {
            _history.Add(_value);
            _value = value;
            return other;
        }
    }

    // Of generic types and generic methods, by field, static field, method and constructor.
    private static class Access<T>
    {
        [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_value")]
        public static extern ref T Value(Box<T> box);

        [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_history")]
        public static extern ref List<T> History(Box<T> box);

        [UnsafeAccessor(UnsafeAccessorKind.StaticField, Name = "s_count")]
        public static extern ref int Count(Box<T>? box);

        [UnsafeAccessor(UnsafeAccessorKind.Method, Name = "Swap")]
        public static extern TOther Swap<TOther>(Box<T> box, T value, TOther other);

        [UnsafeAccessor(UnsafeAccessorKind.Constructor)]
        public static extern Box<T> New(T value);
    }

    private sealed class Text(string value)
    {
        public readonly string Value = value;
    }

    private sealed class ByLength : IEqualityComparer<Text>, IComparer<Text>
    {
        public bool Equals(Text? x, Text? y) => x?.Value.Length == y?.Value.Length;

        public int GetHashCode(Text text) => text.Value.Length;

        public int Compare(Text? x, Text? y) => (x?.Value.Length ?? 0).CompareTo(y?.Value.Length ?? 0);
    }

    public static void Run()
    {
        Accessors();
        Spans();
        Handles();
        Views();
    }

    private static void Accessors()
    {
        Box<string> texts = Access<string>.New("first");
        Box<int> numbers = Access<int>.New(1);
        for (int i = 0; i < 2_000; i++)
        {
            string text = "text " + i;
            if (!ReferenceEquals(Access<string>.Swap(texts, text, text), text) || !ReferenceEquals(Access<string>.Value(texts), text))
                Console.WriteLine("not the same at " + i);
            Access<int>.Swap<object>(numbers, i, text);
        }
        Access<string>.Count(null)++;
        Access<string>.Value(texts) += "!";
        Console.WriteLine($"{Access<string>.Value(texts)} {Access<string>.History(texts).Count} {Access<string>.Count(null)} {Access<int>.Count(null)} {Access<int>.History(numbers).Sum()}");
    }

    private static void Spans()
    {
        Text[] texts = [.. Enumerable.Range(0, 3_000).Select(i => new Text(new string('x', i % 100)))];
        ReadOnlySpan<Text> span = texts;
        var comparer = new ByLength();
        Text three = new("abc"), five = new("abcde"), none = new(new string('y', 200));
        Console.WriteLine($"{span.IndexOf(three, comparer)} {span.LastIndexOf(three, comparer)} {span.IndexOfAny(five, three, comparer)} {span.LastIndexOfAny(five, three, comparer)} {span.IndexOf(none, comparer)}");
        Console.WriteLine($"{span.IndexOf(texts[1_234])} {span.Contains(three)} {span.Contains(three, comparer)} {span.Count(five, comparer)} {span.CountAny([three, five], comparer)}");
        Console.WriteLine($"{span[3..].StartsWith([three, new("abcd")], comparer)} {span.EndsWith(new Text(new string('z', 99)), comparer)} {span.SequenceCompareTo(texts.AsSpan(1), comparer)}");
        Console.WriteLine($"{span.IndexOfAnyExcept(new Text(""), comparer)} {span.ContainsAnyExcept([three], comparer)} {span.IndexOf([texts[2_000], texts[2_001]], comparer)}");
        Text[] copy = new Text[texts.Length];
        span.Replace(copy, three, none, comparer);
        Console.WriteLine(copy.Count(text => ReferenceEquals(text, none)) + " " + ReferenceEquals(copy[4], texts[4]));
        copy.AsSpan().Replace(none, five, comparer);
        Console.WriteLine(copy.Count(text => ReferenceEquals(text, five)));

        int[] numbers = [.. Enumerable.Range(0, 1_000)];
        ref int first = ref numbers[0], last = ref numbers[^1];
        int steps = 0;
        for (ref int at = ref first; Unsafe.IsAddressLessThanOrEqualTo(ref at, ref last); at = ref Unsafe.Add(ref at, 1))
            steps += at;
        for (ref int at = ref last; Unsafe.IsAddressGreaterThanOrEqualTo(ref at, ref first); at = ref Unsafe.Subtract(ref at, 1))
            steps++;
        Console.WriteLine(steps);
        Console.WriteLine(Convert.ToHexStringLower(Convert.FromHexString("00ff10Ab"u8)) + " " + Guid.Parse("00112233-4455-6677-8899-aabbccddeeff"u8));
    }

    private static unsafe void Handles()
    {
        long sum = 0;
        var pinned = new List<PinnedGCHandle<byte[]>>();
        for (int i = 0; i < 500; i++)
        {
            byte[] bytes = new byte[64];
            pinned.Add(new PinnedGCHandle<byte[]>(bytes));
            bytes[5] = (byte)i;
        }
        GC.Collect();
        foreach (PinnedGCHandle<byte[]> handle in pinned)
        {
            fixed (byte* first = handle.Target)
                sum += first == handle.GetAddressOfArrayData() ? first[5] : -1_000_000;
            handle.Dispose();
        }
        using var text = new PinnedGCHandle<string>("a text of the heap ".TrimEnd());
        sum += text.GetAddressOfStringData()[2];
        using var strong = new GCHandle<Text>(new Text("strong"));
        using GCHandle<Text> same = GCHandle<Text>.FromIntPtr(GCHandle<Text>.ToIntPtr(strong));
        var kept = new Text("weak");
        using var weak = new WeakGCHandle<Text>(kept);
        Console.WriteLine($"{sum} {strong.Target.Value} {same.Equals(strong)} {weak.TryGetTarget(out Text? target) && ReferenceEquals(target, kept)}");
        GC.KeepAlive(kept);
    }

    private static void Views()
    {
        var bits = new BitArray(1_000);
        CollectionsMarshal.AsBytes(bits)[3] = 0x81;
        Console.WriteLine($"{bits[24]} {bits[31]} {bits[25]} {CollectionsMarshal.AsBytes(bits).Length}");

        ImmutableArray<string>.Builder builder = ImmutableArray.CreateBuilder<string>();
        for (int i = 0; i < 100; i++)
            builder.Add("item " + i);
        ReadOnlyMemory<string> memory = ImmutableCollectionsMarshal.AsMemory(builder);
        Console.WriteLine(memory.Length + " " + ReferenceEquals(memory.Span[42], builder[42]));

        var table = new ConditionalWeakTable<Text, string>();
        var key = new Text("key");
        string value = table.GetOrAdd(key, text => "of " + text.Value);
        Console.WriteLine(value + " " + ReferenceEquals(table.GetOrAdd(key, "other"), value) + " " + table.Remove(key, out string? removed) + " " + ReferenceEquals(removed, value) + " " + table.TryGetValue(key, out _));

        FrozenDictionary<string, int> frozen = FrozenDictionary.Create([new KeyValuePair<string, int>("one", 1), new("two", 2)]);
        Console.WriteLine(frozen["two"] + " " + frozen.Count);

        using JsonDocument document = JsonDocument.Parse("""{ "n\u0061me": [1, 2] }""");
        foreach (JsonProperty property in document.RootElement.EnumerateObject())
            Console.WriteLine(property.Name + " " + Encoding.UTF8.GetString(JsonMarshal.GetRawUtf8PropertyName(property)));
    }
#else
    public static void Run() => Console.WriteLine("none of them is there");
#endif
}
