using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Freehold.Contract;

/// <summary>Spans, byrefs, memories and enumerators that were made before the deletion and are used after it.</summary>
internal static class UsesOfSpans
{
    private delegate object? SpanUse<T>(Span<T> span);

    public static IEnumerable<Case> All()
    {
        foreach ((string name, int length) in new[] { ("short", 64), ("long", 5_000), ("large", 100_000) })
        {
            yield return Bytes("read-" + name, length, s => s[9]);
            yield return Bytes("write-" + name, length, s => s[9] = 1);
            yield return Bytes("copy-from-" + name, length, s => { byte[] to = new byte[length]; s.CopyTo(to); return to[3]; });
            yield return Bytes("copy-to-" + name, length, s => { new byte[length].CopyTo(s); return 0; });
            yield return Bytes("copy-inside-" + name, length, s => { s[..^3].CopyTo(s[3..]); return 0; });
            yield return Bytes("copy-tail-" + name, length, s => { byte[] to = new byte[30]; s[^30..].CopyTo(to); return to[3]; });
            yield return Bytes("fill-" + name, length, s => { s.Fill(3); return 0; });
            yield return Bytes("clear-" + name, length, s => { s.Clear(); return 0; });
            yield return Bytes("index-of-" + name, length, s => s.IndexOf((byte)255));
            yield return Bytes("equal-" + name, length, s => s.SequenceEqual(new byte[length]));
            yield return Bytes("to-array-" + name, length, s => s.ToArray().Length);
            yield return Bytes("reverse-" + name, length, s => { s.Reverse(); return 0; });
            yield return Bytes("cast-" + name, length, s => MemoryMarshal.Cast<byte, long>(s)[3]);
            yield return Bytes("foreach-" + name, length, s => { int total = 0; foreach (byte b in s) total += b; return total; });
            yield return Bytes("byref-" + name, length, s => { ref byte at = ref s[5]; at++; at = ref Unsafe.Add(ref at, 3); return at; });
            yield return Bytes("vector-" + name, length, s => System.Runtime.Intrinsics.Vector128.LoadUnsafe(ref MemoryMarshal.GetReference(s)).ToString());
            yield return References("references-read-" + name, length / 4, s => (string?)s[3]);
            yield return References("references-write-" + name, length / 4, s => s[3] = "new");
            yield return References("references-copy-from-" + name, length / 4, s => { string?[] to = new string?[length / 4]; s.CopyTo(to); return to[2]; });
            yield return References("references-copy-to-" + name, length / 4, s => { new string?[length / 4].CopyTo(s); return 0; });
            yield return References("references-copy-inside-" + name, length / 4, s => { s[1..].CopyTo(s); return 0; });
            yield return References("references-fill-" + name, length / 4, s => { s.Fill("filled"); return 0; });
            yield return References("references-clear-" + name, length / 4, s => { s.Clear(); return 0; });
            yield return References("references-sort-" + name, length / 4, Sort);
        }
        yield return new("span-memory", _ => OfMemory());
        yield return new("span-string", _ => OfString());
        yield return new("span-field", _ => OfField());
        yield return new("span-enumerators", _ => OfEnumerators());
        yield return new("span-identity", _ => Identity());
    }

    private static Case Bytes(string name, int length, SpanUse<byte> use) =>
        new("span-" + name, _ => Run(i => { byte[] array = new byte[length]; array.AsSpan().Fill((byte)(i % 200)); return array; }, length + 24, use));

    private static Case References(string name, int length, SpanUse<string?> use) =>
        new("span-" + name, _ => Run(i => { string?[] array = new string?[length]; Array.Fill(array, "element"); return array; }, length * 8 + 24, use));

    private static void Run<T>(Func<int, T[]> make, int size, SpanUse<T> use)
    {
        var neighbours = new Neighbours<T[]>(make, size);
        object? expected = use(make(neighbours.Index));
        Span<T> span = neighbours.Victim;

        T[] fresh = make(neighbours.Index);
        Span<T> other = fresh;
        Heap.Delete(fresh);
        try
        {
            object? result = use(other);
            if (DebugMode.IsOn)
                throw new ContractException("debug mode, and the use of a deleted object did not throw");
            Expect.Equal(expected, result);
        }
        catch (DanglingReferenceException)
        {
        }

        neighbours.Release();
        for (int i = 0; i < 3; i++)
        {
            try
            {
                object? result = use(span);
                throw new ContractException("the memory is gone, and the use gave " + (result ?? "null"));
            }
            catch (DanglingReferenceException)
            {
            }
        }
    }

    // Array.Sort wraps whatever a comparison throws.
    private static object? Sort(Span<string?> span)
    {
        try
        {
            span.Sort(StringComparer.Ordinal);
            return 0;
        }
        catch (InvalidOperationException exception) when (exception.InnerException is DanglingReferenceException inner)
        {
            throw inner;
        }
    }

    private static void OfMemory()
    {
        var neighbours = new Neighbours<char[]>(i => new char[60], 144);
        Memory<char> memory = neighbours.Victim.AsMemory(5, 40);
        neighbours.Release();
        Expect.Throws<DanglingReferenceException>(() => _ = memory.Span[3]);
        Expect.Throws<DanglingReferenceException>(() => _ = memory.ToString());
        Expect.Equal(40, memory.Length);
    }

    private static void OfString()
    {
        var neighbours = new Neighbours<string>(i => new string('x', 50), 128);
        ReadOnlySpan<char> span = neighbours.Victim.AsSpan(7);
        neighbours.Release();
        try
        {
            throw new ContractException("read " + span.IndexOf('y'));
        }
        catch (DanglingReferenceException)
        {
        }
        Expect.Equal(43, span.Length);
    }

    private static void OfField()
    {
        var neighbours = new Neighbours<Subject>(i => new Subject(i), 120);
        ref int value = ref neighbours.Victim.Value;
        ref Mixed mixed = ref neighbours.Victim.Mixed;
        neighbours.Release();
        int caught = 0;
        try
        {
            value++;
        }
        catch (DanglingReferenceException)
        {
            caught++;
        }
        try
        {
            mixed = new Mixed(1, "text", mixed.Link);
        }
        catch (DanglingReferenceException)
        {
            caught++;
        }
        try
        {
            mixed.Text = "text";
        }
        catch (DanglingReferenceException)
        {
            caught++;
        }
        Expect.Equal(3, caught);
    }

    private static void OfEnumerators()
    {
        var neighbours = new Neighbours<List<int>>(_ => [], 32);
        List<int>.Enumerator enumerator = neighbours.Victim.GetEnumerator();
        Expect.True(!enumerator.MoveNext());
        neighbours.Release();
        try
        {
            enumerator.MoveNext();
            throw new ContractException("moved on");
        }
        catch (DanglingReferenceException)
        {
        }
    }

    // Point 5: comparing references is not a use, whatever was deleted.
    private static void Identity()
    {
        var neighbours = new Neighbours<Subject>(i => new Subject(i), 120);
        Subject gone = neighbours.Victim;
        ref int left = ref gone.Value;
        ref int right = ref gone.Value;
        object other = new();
        object?[] array = [gone, other];  // before: a store into an array may ask for the type
        neighbours.Release();
        Expect.True(ReferenceEquals(gone, neighbours.Victim));
        Expect.True(!ReferenceEquals(gone, other));
        Expect.True(gone == neighbours.Victim && gone is not null);
        Expect.True(Unsafe.AreSame(ref left, ref right));
        object? slot = gone;
        Expect.True(ReferenceEquals(Interlocked.CompareExchange(ref slot, other, gone), gone));
        Expect.True(ReferenceEquals(slot, other));
        Expect.True(ReferenceEquals(Interlocked.Exchange(ref slot, gone), other));
        Expect.Equal(0, Array.FindIndex(array, item => ReferenceEquals(item, gone)));
    }
}
