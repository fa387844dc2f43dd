using System.Buffers;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Collections.Specialized;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using System.Threading.Channels;
using Freehold.Collections;

namespace Freehold.Contract;

/// <summary>
/// The framework's types and their parts: after <c>Heap.Delete</c> at least 95% of what making and using one has allocated is gone; of those that cannot be told their size,
/// all but the arrays that they outgrew, which together are a little less than what they have at last.
/// </summary>
internal static class OwningCollections
{
    private const int Count = 1_000;

    public static IEnumerable<Case> All() =>
    [
        .. Makers().Concat(OwningDocuments.Makers()).Select(maker => new Case("owned-by-" + maker.Name, _ => IsGone(maker.Make, 0.95))),
        new("owned-by-binary-reader", _ => IsGone(() => { var reader = new BinaryReader(Stream.Null, Encoding.UTF8); reader.PeekChar(); return reader; }, 0.45)),  // all but the decoder
        .. MakersOfGrown().Concat(OwningDocuments.MakersOfMore()).Select(maker => new Case("owned-by-grown-" + maker.Name, _ => IsGone(maker.Make, 0.45))),
    ];

    private static void IsGone(Func<object> make, double share)
    {
        // The first time statics are made too, and caches filled.
        Heap.Delete(make());
        // What one takes is the least of three: the runtime's cache of casts doubles on whichever thread needs it, by where the system has put the program's types.
        long least = long.MaxValue, fewest = long.MaxValue;
        for (int i = 0; i < 3; i++)
        {
            (object value, long allocated) = Make(make);
            long before = Heap.GetStatistics().DeletedBytes;
            Heap.Delete(value);
            fewest = Math.Min(fewest, Heap.GetStatistics().DeletedBytes - before);
            Expect.SecondDeleteThrows(value);
            least = Math.Min(least, allocated);
        }
        if (fewest < share * least)
            throw new ContractException($"{fewest} of {least} bytes are gone");
        // What all share is still there: the next one is made and used as ever.
        Heap.Delete(make());
    }

    private static (object Value, long Allocated) Make(Func<object> make)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        object value = make();
        return (value, GC.GetAllocatedBytesForCurrentThread() - before);
    }

    private static IEnumerable<(string Name, Func<object> Make)> Makers()
    {
        yield return ("list", () => Fill(new List<long>(Count), (list, i) => list.Add(i)));
        yield return ("tree-list", () => Fill(new TreeList<long>(), (list, i) => list.Add(i)));
        yield return ("tree-list-of-references", () => Fill(new TreeList<object>(), (list, i) => list.Add(typeof(OwningCollections))));
        yield return ("tree-array", () => new TreeArray<int>(9_000_000));  // more than one directory
        yield return ("dictionary", () => Fill(new Dictionary<int, long>(Count), (dictionary, i) => dictionary.Add(i, i), dictionary => dictionary.Keys.Sum() + dictionary.Values.Count));
        yield return ("hash-set", () => Fill(new HashSet<int>(Count), (set, i) => set.Add(i)));
        yield return ("queue", () => Fill(new Queue<int>(Count), (queue, i) => queue.Enqueue(i)));
        yield return ("stack", () => Fill(new Stack<int>(Count), (stack, i) => stack.Push(i)));
        yield return ("priority-queue", () => Fill(new PriorityQueue<int, int>(Count), (queue, i) => queue.Enqueue(i, -i), queue => queue.UnorderedItems.Count));
        yield return ("linked-list", () => Fill(new LinkedList<int>(), (list, i) => list.AddLast(i)));
        yield return ("sorted-dictionary", () => Fill(new SortedDictionary<int, int>(), (dictionary, i) => dictionary.Add(i, i)));
        yield return ("sorted-set", () => Fill(new SortedSet<int>(), (set, i) => set.Add(i)));
        yield return ("sorted-list", () => Fill(new SortedList<int, int>(Count), (list, i) => list.Add(i, i), list => list.Keys.Count + list.Values.Count));
        yield return ("ordered-dictionary", () => Fill(new OrderedDictionary<int, int>(Count), (dictionary, i) => dictionary.Add(i, i)));
        yield return ("semaphore", () => { var semaphore = new SemaphoreSlim(1); semaphore.Wait(); semaphore.Release(); return semaphore; });
        yield return ("manual-reset-event", () => { var set = new ManualResetEventSlim(); set.Set(); set.Wait(); return set; });
        yield return ("countdown", () => { var countdown = new CountdownEvent(1); countdown.Signal(); countdown.Wait(); return countdown; });
        yield return ("barrier", () => { var barrier = new Barrier(1); barrier.SignalAndWait(); return barrier; });
        yield return ("string-writer", () => Fill(new StringWriter(System.Globalization.CultureInfo.InvariantCulture), (writer, i) => writer.Write("some text")));
        yield return ("bit-array", () => new BitArray(100_000));
        yield return ("array-list", () => Fill(new ArrayList(Count), (list, i) => list.Add(s_objects[i])));
        yield return ("hashtable", () => Fill(new Hashtable(Count), (table, i) => table[s_objects[i]] = s_objects[i], table => table.Keys.Count + table.Values.Count));
        yield return ("queue-of-objects", () => Fill(new Queue(Count), (queue, i) => queue.Enqueue(s_objects[i])));
        yield return ("stack-of-objects", () => Fill(new Stack(Count), (stack, i) => stack.Push(s_objects[i])));
        yield return ("sorted-list-of-objects", () => Fill(new SortedList(Comparer<object>.Create((a, b) => string.CompareOrdinal((string)a, (string)b)), Count), (list, i) => list.Add(s_objects[i], s_objects[i])));
        yield return ("list-dictionary", () => Fill(new ListDictionary(), (dictionary, i) => dictionary.Add(s_objects[i], null)));
        yield return ("hybrid-dictionary", () => Fill(new HybridDictionary(Count), (dictionary, i) => dictionary.Add(s_objects[i], null)));
        yield return ("concurrent-dictionary", () => Fill(new ConcurrentDictionary<int, int>(4, 2 * Count), (dictionary, i) => dictionary[i] = i));
        yield return ("concurrent-queue", () => Fill(new ConcurrentQueue<int>(), (queue, i) => queue.Enqueue(i)));
        yield return ("concurrent-stack", () => Fill(new ConcurrentStack<int>(), (stack, i) => stack.Push(i)));
        yield return ("string-builder", () => Fill(new StringBuilder(), (builder, i) => builder.Append("some text")));
        yield return ("memory-stream", () => Fill(new MemoryStream(Count), (stream, i) => stream.WriteByte((byte)i)));
        yield return ("buffered-stream", () => Fill(new BufferedStream(Stream.Null, 8 * Count), (stream, i) => stream.WriteByte((byte)i)));
        yield return ("stream-reader", () => { var reader = new StreamReader(Stream.Null, Encoding.UTF8); _ = reader.ReadLine(); return reader; });
        yield return ("stream-writer", () => Fill(new StreamWriter(Stream.Null, Encoding.UTF8), (writer, i) => writer.Write("some text")));
        yield return ("array-buffer-writer", () => Fill(new ArrayBufferWriter<byte>(Count), (writer, i) => { writer.GetSpan(1)[0] = 1; writer.Advance(1); }));
        yield return ("immutable-array-builder", () => Fill(ImmutableArray.CreateBuilder<int>(Count), (builder, i) => builder.Add(i)));
        yield return ("random", () => new Random());
        yield return ("random-with-a-seed", () => new Random(5));
        yield return ("unbounded-channel", () => Fill(Channel.CreateUnbounded<long>(), (channel, i) => Expect.True(channel.Writer.TryWrite(i))));
        yield return ("file-stream", () => Fill(new FileStream("/dev/null", FileMode.Open, FileAccess.Write, FileShare.ReadWrite, 16 * Count), (stream, i) => stream.WriteByte((byte)i)));
        yield return ("derived-random-with-a-seed", () => new DerivedRandom());
        yield return ("json-document", () => JsonDocument.Parse(s_json));
        yield return ("json-array", () => Fill(new JsonArray(), (array, i) => array.Add((JsonNode)new JsonObject { ["item"] = new JsonArray() })));
    }

    private static IEnumerable<(string Name, Func<object> Make)> MakersOfGrown()
    {
        yield return ("concurrent-bag", () => Fill(new ConcurrentBag<int>(), (bag, i) => bag.Add(i)));
        yield return ("bounded-channel", () => Fill(Channel.CreateBounded<long>(Count), (channel, i) => Expect.True(channel.Writer.TryWrite(i))));
        yield return ("match", () => Use(Regex.Match(s_text, "(a(b)*)+")));
        yield return ("matches", () => { MatchCollection matches = Regex.Matches(s_text, "a(b)*"); foreach (Match match in matches) Use(match); return matches; });
    }

    private static readonly string s_text = string.Concat(Enumerable.Repeat("abb", 100));

    private static readonly byte[] s_json = Encoding.UTF8.GetBytes($"[{string.Join(',', Enumerable.Range(0, Count))}]");

    private sealed class DerivedRandom() : Random(5);

    private static Match Use(Match match)
    {
        Expect.True(match.Groups.Count > 1 && match.Groups[1].Captures.Count > 0 && match.Captures.Count == 1);
        return match;
    }

    private static readonly string[] s_objects = [.. Enumerable.Range(0, Count).Select(i => "object " + i)];

    private static T Fill<T>(T collection, Action<T, int> add, Func<T, int>? use = null)
        where T : class
    {
        for (int i = 0; i < Count; i++)
            add(collection, i);
        _ = use?.Invoke(collection);
        return collection;
    }
}
