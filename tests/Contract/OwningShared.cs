using System.Collections;
using System.Text;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;

namespace Freehold.Contract;

/// <summary>What looks like a part of an object that is deleted, and that somebody else still uses.</summary>
internal static class OwningShared
{
    public static IEnumerable<Case> All()
    {
        yield return new("owned-groups-of-a-live-match", _ => Groups());
        yield return new("owned-decoders-of-the-program", _ => Decoders());
        yield return new("owned-decoders-of-a-derived-encoding", _ => DerivedDecoders());
        yield return new("owned-json-nodes-of-another-parent", _ => JsonNodes());
        yield return new("owned-nodes-deleted-before", _ => Nodes());
        yield return new("owned-elements-that-throw", _ => ElementsThatThrow());
        yield return new("owned-builder-of-the-program", _ => GivenBuilder());
        yield return new("owned-collection-of-the-program", _ => GivenCollection());
        yield return new("owned-timer", _ => ArmedTimer());
    }

    private static void Groups()
    {
        for (int i = 0; i < 2_000; i++)
        {
            Match match = Regex.Match("ab12", "([a-z]+)([0-9]+)");
            Group[] groups = [match.Groups[1], match.Groups[2]];
            foreach (Group group in groups)
                Heap.Delete(group);
            if (i % 500 == 0)
                Heap.Compact();
            Expect.Equal("12ab", match.Result("$2$1"));
            Heap.Delete(match);
        }
    }

    private sealed class Derived(StringBuilder? builder) : StringWriter(builder ?? new StringBuilder("own "));

    // What the writer was given stays, also by a derived class; what it made goes.
    private static void GivenBuilder()
    {
        for (int i = 0; i < 200; i++)
        {
            var builder = new StringBuilder("a ");
            foreach (StringWriter writer in new[] { new StringWriter(builder), new StringWriter(builder, null), new Derived(builder) })
            {
                writer.Write("b ");
                Heap.Delete(writer);
            }

            Expect.Equal("a b b b ", builder.ToString());
            var own = new Derived(null);
            StringBuilder its = own.GetStringBuilder();
            Heap.Delete(own);
            Expect.Equal("own ", its.ToString());
            var made = new StringWriter();
            its = made.GetStringBuilder();
            Heap.Delete(made);
            Expect.Throws<DoubleDeleteException>(() => Heap.Delete(its));
            Heap.Delete(builder);
        }
    }

    private static void GivenCollection()
    {
        for (int i = 0; i < 200; i++)
        {
            var queue = new System.Collections.Concurrent.ConcurrentQueue<int>();
            var collection = new System.Collections.Concurrent.BlockingCollection<int>(queue);
            collection.Add(i);
            Heap.Delete(collection);
            Expect.True(queue.TryDequeue(out int first) && first == i);
            var own = new System.Collections.Concurrent.BlockingCollection<int>(4);
            own.Add(i);
            Expect.Equal(i, own.Take());
            Heap.Delete(own);
        }
    }

    // A timer that is deleted does not fire any more, whether it is armed or was disposed of.
    private static void ArmedTimer()
    {
        int fired = 0;
        for (int i = 0; i < 200; i++)
        {
            var timer = new Timer(_ => Interlocked.Increment(ref fired), null, i % 2, 1);
            if (i % 3 == 0)
                Thread.Sleep(2);
            if (i % 5 == 0)
                timer.Dispose();
            Heap.Delete(timer);
        }

        // A callback that had begun may yet count.
        int before, tries = 0;
        do
        {
            before = Volatile.Read(ref fired);
            Thread.Sleep(100);
        }
        while (Volatile.Read(ref fired) != before && ++tries < 50);
        Expect.True(before > 0);
        Thread.Sleep(50);
        Expect.Equal(before, fired);
    }

    private sealed class Shifted : Encoding
    {
        private readonly Decoder _decoder = new ShiftedDecoder();
        private readonly Encoder _encoder = new ShiftedEncoder();

        public override int GetByteCount(char[] chars, int index, int count) => count;
        public override int GetCharCount(byte[] bytes, int index, int count) => count;
        public override int GetMaxByteCount(int charCount) => charCount;
        public override int GetMaxCharCount(int byteCount) => byteCount;
        public override int GetBytes(char[] chars, int charIndex, int charCount, byte[] bytes, int byteIndex) => _encoder.GetBytes(chars, charIndex, charCount, bytes, byteIndex, true);
        public override int GetChars(byte[] bytes, int byteIndex, int byteCount, char[] chars, int charIndex) => _decoder.GetChars(bytes, byteIndex, byteCount, chars, charIndex);
        public override Decoder GetDecoder() => _decoder;  // without state: one for all
        public override Encoder GetEncoder() => _encoder;
    }

    private sealed class ShiftedDecoder : Decoder
    {
        public override int GetCharCount(byte[] bytes, int index, int count) => count;

        public override int GetChars(byte[] bytes, int byteIndex, int byteCount, char[] chars, int charIndex)
        {
            for (int i = 0; i < byteCount; i++)
                chars[charIndex + i] = (char)(bytes[byteIndex + i] - 1);
            return byteCount;
        }
    }

    private sealed class ShiftedEncoder : Encoder
    {
        public override int GetByteCount(char[] chars, int index, int count, bool flush) => count;

        public override int GetBytes(char[] chars, int charIndex, int charCount, byte[] bytes, int byteIndex, bool flush)
        {
            for (int i = 0; i < charCount; i++)
                bytes[byteIndex + i] = (byte)(chars[charIndex + i] + 1);
            return charCount;
        }
    }

    // By a writer and read by a reader, which are both deleted.
    private static MemoryStream Written(Encoding encoding)
    {
        var stream = new MemoryStream();
        var writer = new StreamWriter(stream, encoding, 128, leaveOpen: true);
        writer.Write("text");
        writer.Flush();
        Heap.Delete(writer);
        stream.Position = 0;
        var reader = new StreamReader(stream, encoding, false, 128, leaveOpen: true);
        Expect.Equal("text", reader.ReadToEnd());
        Heap.Delete(reader);
        return stream;
    }

    private static void Decoders()
    {
        var encoding = new Shifted();
        for (int i = 0; i < 500; i++)
        {
            MemoryStream stream = Written(encoding);
            stream.Position = 0;
            var binary = new BinaryReader(stream, encoding, leaveOpen: true);
            Expect.Equal('t', binary.ReadChar());
            Heap.Delete(binary);
            Heap.Delete(stream);
            if (i % 100 == 0)
                Heap.Compact();
        }
        Expect.Equal("text", encoding.GetString([(byte)'u', (byte)'f', (byte)'y', (byte)'u']));
        // Nobody has deleted them yet.
        Heap.Delete(encoding.GetDecoder());
        Heap.Delete(encoding.GetEncoder());
    }

    private sealed class Cached : UTF8Encoding
    {
        private readonly Decoder _decoder = new UTF8Encoding().GetDecoder();
        private readonly Encoder _encoder = new UTF8Encoding().GetEncoder();

        public override Decoder GetDecoder() => _decoder;
        public override Encoder GetEncoder() => _encoder;
    }

    private static void DerivedDecoders()
    {
        var encoding = new Cached();
        for (int i = 0; i < 500; i++)
        {
            MemoryStream stream = Written(encoding);
            Heap.Delete(stream);
            if (i % 100 == 0)
                Heap.Compact();
        }
        Heap.Delete(encoding.GetDecoder());
        Heap.Delete(encoding.GetEncoder());
    }

    // The insertion throws, and has stored the node already.
    private static void JsonNodes()
    {
        for (int i = 0; i < 500; i++)
        {
            var first = new JsonObject { ["x"] = new JsonArray(i, "two") };
            var list = new JsonArray(new JsonObject { ["y"] = i });
            var second = new JsonObject { ["own"] = new JsonArray(1, 2) };
            var third = new JsonArray(new JsonArray(1));
            JsonNode own = second["own"]!;
            Expect.Throws<InvalidOperationException>(() => second["a"] = first["x"]);
            Expect.Throws<InvalidOperationException>(() => second.Add("b", list[0]));
            Expect.Throws<InvalidOperationException>(() => third.Insert(0, list[0]));
            Expect.Throws<InvalidOperationException>(() => third.Add(first["x"]));
            Heap.Delete(second);
            Heap.Delete(third);
            Expect.SecondDeleteThrows(own);
            if (i % 100 == 0)
                Heap.Compact();
            Expect.Equal($"[{i},\"two\"]", first["x"]!.ToJsonString());
            Expect.Equal($"[{{\"y\":{i}}}]", list.ToJsonString());
            Heap.Delete(first);
            Heap.Delete(list);
        }
    }

    private static void Nodes()
    {
        for (int kept = 0; kept < 3; kept++)
        {
            // As many as give their pages back when they are gone.
            var list = new LinkedList<long>(Enumerable.Range(0, 100_000).Select(i => (long)i));
            var nodes = new List<LinkedListNode<long>>(list.Count);
            for (LinkedListNode<long>? node = list.First; node is not null; node = node.Next)
                nodes.Add(node);
            foreach (LinkedListNode<long> node in nodes.Skip(kept * 1_000))
                Heap.Delete(node);
            Heap.Compact();
            Heap.Delete(list);
            Expect.SecondDeleteThrows(list);
            Expect.Equal(100_000, nodes.Count);
            Heap.Delete(nodes);
        }
    }

    private sealed class Leaf
    {
        public int Value = 1;
    }

    private sealed class Failing(Leaf[] leaves) : IEnumerable
    {
        public bool Fails = true;

        public IEnumerator GetEnumerator()
        {
            foreach (Leaf leaf in leaves)
                yield return leaf;
            if (Fails)
                throw new InvalidOperationException("elements");
        }
    }

    private sealed class Owner
    {
        [Owned]
        public Owner? Inner;
        [Owned(Elements = true)]
        public Failing? Leaves;
    }

    private static void ElementsThatThrow()
    {
        Leaf[] leaves = [.. Enumerable.Range(0, 100).Select(_ => new Leaf())];
        var failing = new Failing(leaves);
        var inner = new Owner { Leaves = failing };
        var owner = new Owner { Inner = inner };
        Expect.Throws<InvalidOperationException>(() => Heap.Delete(owner));
        Expect.SecondDeleteThrows(owner);
        Expect.Equal(100, leaves.Sum(leaf => leaf.Value));
        // What could not name its parts is there with them, and a second call deletes all.
        Heap.Delete(leaves[99]);
        failing.Fails = false;
        Heap.Delete(inner);
        foreach (Leaf leaf in leaves)
            Expect.SecondDeleteThrows(leaf);
    }
}
