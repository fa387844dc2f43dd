using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>Inline arrays of references, ref fields, structs of references in arrays that are sorted, copied and exchanged, while garbage makes the heap work.</summary>
internal static class InlineArrays
{
    private const int Length = 8, Rounds = 400;

    public static void Run()
    {
        Fill();
        Sorted();
        ByReference();
        Exchanged();
        Nested();
    }

    [InlineArray(Length)]
    private struct Row
    {
        private string? _first;
    }

    [InlineArray(Length)]
    private struct Grid
    {
        private Row _first;
    }

    private struct Pair : IComparable<Pair>
    {
        public string Key;
        public object? Value;
        public int Number;

        public readonly int CompareTo(Pair other) => string.CompareOrdinal(Key, other.Key);
    }

    private sealed class Holder
    {
        public Row Row;
        public Grid Grid;
    }

    // Walks over what a ref struct refers to, in objects and on the stack.
    private ref struct Cursor(Span<string?> rest)
    {
        private ref string? _current = ref rest[0];
        private Span<string?> _rest = rest;

        public readonly ref string? Current => ref _current;

        public bool Next()
        {
            _rest = _rest[1..];
            if (_rest.IsEmpty)
                return false;
            _current = ref _rest[0];
            return true;
        }
    }

    private static object Garbage(int count)
    {
        object[] kept = new object[16];
        for (int i = 0; i < count; i++)
            kept[i % kept.Length] = new string((char)('a' + (i % 26)), i % 50);
        return kept;
    }

    private static void Fill()
    {
        var holders = new List<Holder>();
        for (int i = 0; i < Rounds; i++)
        {
            var holder = new Holder();
            for (int j = 0; j < Length; j++)
                holder.Row[j] = $"{i}.{j}";
            holders.Add(holder);
            GC.KeepAlive(Garbage(50));
        }
        // Copies of the whole array, through the stack.
        for (int i = 1; i < Rounds; i++)
        {
            Row row = holders[i - 1].Row;
            (row[0], row[Length - 1]) = (row[Length - 1], row[0]);
            holders[i - 1].Row = holders[i].Row;
            holders[i].Row = row;
        }
        Console.WriteLine(string.Join(' ', holders.Take(3).Concat(holders.TakeLast(2)).Select(holder => string.Join(',', ((ReadOnlySpan<string?>)holder.Row).ToArray()))));
    }

    private static void Sorted()
    {
        Pair[] pairs = [.. Enumerable.Range(0, 5_000).Select(i => new Pair { Key = $"k{i * 7919 % 5_000:0000}", Value = i % 3 == 0 ? null : new int[] { i }, Number = i })];
        Array.Sort(pairs);
        GC.KeepAlive(Garbage(20_000));
        Pair[] copy = pairs[1_000..2_000];
        Array.Copy(copy, 0, copy, 10, 900);
        copy.AsSpan(500).Reverse();
        Console.WriteLine($"{pairs[0].Key} {pairs[^1].Key} {copy[0].Key} {copy[10].Key} {copy[600].Key} {((int[]?)copy[777].Value)?[0]} {copy.Sum(pair => pair.Number)}");
    }

    private static void ByReference()
    {
        string?[] texts = [.. Enumerable.Range(0, 500).Select(i => i.ToString())];
        var holder = new Holder();
        for (int i = 0; i < Length; i++)
            holder.Row[i] = "row" + i;
        int total = 0;
        for (int round = 0; round < 20; round++)
        {
            var outer = new Cursor(texts);
            var inner = new Cursor(holder.Row);
            do
            {
                outer.Current += "x";
                (outer.Current, inner.Current) = (inner.Current, outer.Current);
                if (total++ % 100 == 0)
                    GC.KeepAlive(Garbage(200));
                if (!inner.Next())
                    inner = new Cursor(holder.Row);
            }
            while (outer.Next());
        }
        Console.WriteLine($"{total} {texts.Sum(text => text!.Length)} {texts[3]} {holder.Row[2]} {Unsafe.AreSame(ref holder.Row[0], ref ((Span<string?>)holder.Row)[0])}");
    }

    // References inside structs inside arrays, by several threads.
    private static void Exchanged()
    {
        var pairs = new Pair[64];
        for (int i = 0; i < pairs.Length; i++)
            pairs[i] = new Pair { Key = "", Value = new StrongBox<int>(0) };
        Thread[] threads = [.. Enumerable.Range(0, 4).Select(seed => new Thread(() =>
        {
            for (int i = 0; i < 5_000; i++)
            {
                ref Pair pair = ref pairs[(i + seed) % pairs.Length];
                while (true)
                {
                    var seen = (StrongBox<int>)Volatile.Read(ref pair.Value)!;
                    if (ReferenceEquals(Interlocked.CompareExchange(ref pair.Value, new StrongBox<int>(seen.Value + 1), seen), seen))
                        break;
                }
                Interlocked.Exchange(ref pair.Key, i % 2 == 0 ? "even" : "odd");
            }
        }))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Console.WriteLine($"{pairs.Sum(pair => ((StrongBox<int>)pair.Value!).Value)} {pairs.All(pair => pair.Key is "even" or "odd")}");
    }

    private static void Nested()
    {
        var holder = new Holder();
        for (int i = 0; i < Length * Length; i++)
            holder.Grid[i / Length][i % Length] = new string((char)('A' + (i % 26)), i);
        GC.KeepAlive(Garbage(10_000));
        Grid grid = holder.Grid;
        object boxed = grid;
        holder.Grid[3] = grid[4];
        holder.Grid[4] = ((Grid)boxed)[3];
        int length = 0;
        foreach (Row row in holder.Grid)
        {
            foreach (string? text in row)
                length = (length * 31) + text!.Length;
        }
        Console.WriteLine($"{length} {holder.Grid[3][0]![0]} {holder.Grid[4][7]![^1]} {((Span<Row>)holder.Grid).Length}");
    }
}
