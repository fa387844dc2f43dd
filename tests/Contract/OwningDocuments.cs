using System.IO.Compression;
using System.Security.Cryptography;
using System.Text.Json;
using System.Xml;
using System.Xml.Linq;

namespace Freehold.Contract;

/// <summary>Trees of XML, streams that compress or encrypt, writers of JSON, locks: what they make, for <see cref="OwningCollections"/>, and what others still use when they are deleted.</summary>
internal static class OwningDocuments
{
    private const int Count = 1_000;

    private static readonly XName s_item = "item", s_first = "first", s_second = "second";
    private static readonly NameTable s_names = new();
    private static readonly byte[] s_bytes = [.. Enumerable.Range(0, 20 * Count).Select(i => (byte)(i * i / 7))];
    private static readonly ToBase64Transform s_transform = new();
    private static readonly MemoryStream s_zip = new();
    private static readonly string s_long = new('x', 2 * Count);

    public static IEnumerable<Case> All() =>
    [
        new("owned-xml-nodes-that-were-removed", _ => RemovedNodes()),
        new("owned-xml-subtree", _ => Subtree()),
        new("owned-streams-below", _ => StreamsBelow()),
        new("owned-pending-calls", _ => PendingCalls()),
        new("owned-blocks-of-the-transform", _ => TransformedBlocks()),
        new("owned-zip-entries", _ => ZipEntries()),
        new("owned-events-of-a-lock", _ => Locks()),
        new("owned-node-of-two-parents", _ => TwoParents()),
    ];

    public static IEnumerable<(string Name, Func<object> Make)> Makers()
    {
        yield return ("xml-linq", Elements);
        yield return ("xml-linq-document", () => new XDocument(Elements()));
        yield return ("xml-document", Document);
        yield return ("deflate", () => Written(new DeflateStream(Stream.Null, CompressionMode.Compress)));
        yield return ("gzip", () => Written(new GZipStream(Stream.Null, CompressionMode.Compress)));
        yield return ("zlib", () => Written(new ZLibStream(Stream.Null, CompressionMode.Compress)));
        yield return ("brotli", () => Written(new BrotliStream(Stream.Null, CompressionMode.Compress)));
        foreach ((string name, MemoryStream compressed, Func<Stream, Stream> open) in s_compressed)
        {
            yield return (name + "-to-read", () =>
            {
                compressed.Position = 0;
                Stream stream = open(compressed);
                stream.ReadExactly(stackalloc byte[100]);
                return stream;
            }
            );
        }

        yield return ("crypto-stream", () => Written(new CryptoStream(Stream.Null, s_transform, CryptoStreamMode.Write)));
        yield return ("utf8-json-writer", () =>
        {
            var writer = new Utf8JsonWriter(Stream.Null);
            writer.WriteStartArray();
            writer.WriteStringValue(s_long);  // no buffer that it outgrows
            for (int i = 0; i < Count; i++)
            {
                writer.WriteNumberValue(i);
                if (writer.BytesPending > 1_000)
                    writer.Flush();
            }
            return writer;
        }
        );
    }

    private static readonly (string Name, MemoryStream Compressed, Func<Stream, Stream> Open)[] s_compressed =
    [
        ("deflate", Compressed(stream => new DeflateStream(stream, CompressionMode.Compress, true)), stream => new DeflateStream(stream, CompressionMode.Decompress)),
        ("gzip", Compressed(stream => new GZipStream(stream, CompressionMode.Compress, true)), stream => new GZipStream(stream, CompressionMode.Decompress)),
        ("zlib", Compressed(stream => new ZLibStream(stream, CompressionMode.Compress, true)), stream => new ZLibStream(stream, CompressionMode.Decompress)),
        ("brotli", Compressed(stream => new BrotliStream(stream, CompressionMode.Compress, true)), stream => new BrotliStream(stream, CompressionMode.Decompress)),
    ];

    // Of those that leave what they have read.
    public static IEnumerable<(string Name, Func<object> Make)> MakersOfMore()
    {
        yield return ("zip-archive", () =>
        {
            s_zip.SetLength(0);
            var archive = new ZipArchive(s_zip, ZipArchiveMode.Create);
            for (int i = 0; i < 100; i++)
                archive.CreateEntry("entry");
            return archive;
        }
        );
    }

    // How many bytes it has taken, and what the threads keep for it, depends on who waits when: only that the events go.
    private static void Locks()
    {
        // An event is made by who is still waiting when it has spun: on a busy machine a short time is over before that.
        int milliseconds = 2;
        long events = 0;
        for (int i = 0; i < 100; i++)
        {
            var rwLock = new ReaderWriterLockSlim();
            Holder.Holds(rwLock, true);
            Expect.True(!rwLock.TryEnterReadLock(milliseconds) && !rwLock.TryEnterWriteLock(milliseconds));
            Holder.Holds(rwLock, false);
            rwLock.EnterReadLock();
            rwLock.ExitReadLock();
            if (i % 10 == 0)
                rwLock.Dispose();
            long before = Heap.GetStatistics().DeletedObjects;
            Heap.Delete(rwLock);
            long gone = Heap.GetStatistics().DeletedObjects - before - 1;
            if (gone == 0 && i % 10 != 0)
                milliseconds = Math.Min(2 * milliseconds, 1_000);
            events += gone;
        }
        Expect.True(events >= 50, $"{events} parts are gone");
    }

    // A handler that inserts the node which is being inserted puts it into two rings. What the second parent has stays when the first one goes.
    private static void TwoParents()
    {
        foreach (bool first in new[] { true, false })
        {
            var document = new XmlDocument();
            XmlElement root = document.CreateElement("root"), other = document.CreateElement("other"), node = document.CreateElement("node"), child = document.CreateElement("child");
            document.AppendChild(root);
            root.AppendChild(child);
            if (!first)
                other.AppendChild(document.CreateElement("before"));
            bool inserted = false;
            document.NodeInserting += (_, change) =>
            {
                if (change.Node != node || inserted)
                    return;
                inserted = true;
                if (first)
                    other.AppendChild(node);
                else
                    other.PrependChild(node);
            };
            root.AppendChild(node);
            Expect.True(inserted && node.ParentNode == root);
            Heap.Delete(other);
            Expect.Equal("child", child.Name);
            Expect.Equal("node", node.Name);
            Expect.Equal(2, root.ChildNodes.Count);
        }
        AttributeOfTwo();
    }

    private static void AttributeOfTwo()
    {
        for (int others = 0; others < 3; others++)
        {
            var document = new XmlDocument();
            XmlElement one = document.CreateElement("one"), two = document.CreateElement("two");
            XmlAttribute attribute = document.CreateAttribute("x");
            attribute.Value = "value";
            for (int i = 0; i < others; i++)
                two.SetAttribute($"y{i}", "other");
            bool inserted = false;
            document.NodeInserting += (_, change) =>
            {
                if (change.Node != attribute || inserted)
                    return;
                inserted = true;
                two.SetAttributeNode(attribute);
            };
            one.SetAttributeNode(attribute);
            Expect.True(inserted && attribute.OwnerElement == one);
            Heap.Delete(two);
            Heap.Compact();
            Expect.Equal("value", one.GetAttribute("x"));
            Expect.Equal("x", attribute.Name);
            Heap.Delete(one);
            Expect.SecondDeleteThrows(attribute);
        }
    }

    // A thread that takes and leaves locks when it is told to.
    private static class Holder
    {
        private static readonly SemaphoreSlim s_asked = new(0), s_done = new(0);
        private static ReaderWriterLockSlim? s_lock;
        private static bool s_takes;

        static Holder()
        {
            new Thread(() =>
            {
                for (; ; )
                {
                    s_asked.Wait();
                    if (s_takes)
                        s_lock!.EnterWriteLock();
                    else
                        s_lock!.ExitWriteLock();
                    s_lock = null;
                    s_done.Release();
                }
            })
            { IsBackground = true }.Start();
        }

        public static void Holds(ReaderWriterLockSlim rwLock, bool takes)
        {
            (s_lock, s_takes) = (rwLock, takes);
            s_asked.Release();
            s_done.Wait();
        }
    }

    private static T Written<T>(T stream)
        where T : Stream
    {
        stream.Write(s_bytes);
        return stream;
    }

    private static MemoryStream Compressed(Func<Stream, Stream> open)
    {
        var target = new MemoryStream();
        Written(open(target)).Dispose();
        return target;
    }

    private static XElement Elements()
    {
        var root = new XElement(s_item);
        for (int i = 0; i < Count; i++)
        {
            var child = new XElement(s_item);
            if (i % 2 == 0)
                child.Add(new XAttribute(s_first, "value"));
            if (i % 3 == 0)
                child.Add(new XAttribute(s_second, "value"));
            if (i % 5 != 0)
                child.Add("text");
            if (i % 7 == 0)
                child.Add(new XComment("comment"));
            root.Add(child);
        }
        return root;
    }

    private static XmlDocument Document()
    {
        var document = new XmlDocument(s_names);
        XmlElement root = document.CreateElement("root");
        document.AppendChild(root);
        for (int i = 0; i < Count; i++)
        {
            XmlElement child = document.CreateElement("item");
            if (i % 2 == 0)
                child.SetAttribute("first", "value");
            if (i % 3 == 0)
                child.SetAttribute("second", "value");
            if (i % 5 == 0)
                child.IsEmpty = true;
            else
                child.AppendChild(document.CreateTextNode("text"));
            root.AppendChild(child);
        }
        return document;
    }

    // They are nobody's part any more.
    private static void RemovedNodes()
    {
        XElement root = Elements();
        XNode[] removed = [.. root.Nodes().Where((_, i) => i % 10 == 0)];
        XAttribute attribute = root.Elements().First(child => child.HasAttributes && !removed.Contains(child)).FirstAttribute!;
        foreach (XNode node in removed)
            node.Remove();
        attribute.Remove();
        XElement moved = Elements();
        Heap.Delete(root);
        moved.Add(removed);
        Expect.Equal(Count + removed.Length, moved.Nodes().Count());
        Expect.Equal("value", attribute.Value);
        Heap.Delete(moved);

        XmlDocument document = Document();
        var first = (XmlElement)document.DocumentElement!.FirstChild!;
        document.DocumentElement.RemoveChild(first);
        XmlAttribute own = first.RemoveAttributeNode(first.Attributes![0])!;
        Heap.Delete(first);
        Heap.Verify();
        Expect.Equal("value", own.Value);
        Expect.Equal(Count - 1, document.DocumentElement.ChildNodes.Count);
        Heap.Delete(document);
    }

    // A node that is deleted goes with what is below, and not with what follows it.
    private static void Subtree()
    {
        for (int i = 0; i < 20; i++)
        {
            XElement root = Elements();
            XElement child = root.Elements().ElementAt(i);
            XNode next = child.NextNode!;
            child.Remove();
            Heap.Delete(child);
            Expect.Equal("item", ((XElement)next).Name.LocalName);
            Heap.Delete(root);

            XmlDocument document = Document();
            XmlNode element = document.DocumentElement!.ChildNodes[i]!, following = element.NextSibling!;
            Heap.Delete(element);  // while it is in the tree
            Expect.Equal("item", following.LocalName);
            Heap.Delete(document);
        }
    }

    private static void StreamsBelow()
    {
        var below = new MemoryStream();
        foreach (Func<Stream, Stream> open in new Func<Stream, Stream>[] { stream => new GZipStream(stream, CompressionMode.Compress, true), stream => new BrotliStream(stream, CompressionLevel.Fastest, true),
            stream => new CryptoStream(stream, s_transform, CryptoStreamMode.Write, true), })
        {
            below.SetLength(0);
            Stream stream = open(below);
            stream.Write(s_bytes);
            stream.Dispose();
            Heap.Delete(stream);
            Expect.True(below.ToArray().Length > 0);
        }

        for (int i = 0; i < 500; i++)
        {
            // Not disposed: the finalizers of what is inside run.
            var stream = new GZipStream(below, i % 2 == 0 ? CompressionMode.Compress : CompressionMode.Decompress);
            if (i % 2 == 0)
                stream.WriteByte(1);
            Heap.Delete(stream);
        }
        Expect.True(below.CanWrite);
    }

    private static async Task WriteAndFlush(Stream stream)
    {
        await stream.WriteAsync(s_bytes);
        await stream.FlushAsync();
    }

    private static void PendingCalls()
    {
        for (int i = 0; i < 50; i++)
        {
            foreach (Func<Stream, Stream> open in new Func<Stream, Stream>[] { stream => new CryptoStream(stream, s_transform, CryptoStreamMode.Write), stream => new DeflateStream(stream, CompressionLevel.NoCompression), stream => new BrotliStream(stream, CompressionLevel.NoCompression) })
            {
                var slow = new SlowStream();
                Stream stream = open(slow);
                Task write = WriteAndFlush(stream);
                if (!write.IsCompleted && slow.Given.Length > 0)
                {
                    Heap.Delete(stream);
                    if (i % 10 == 0)
                        Heap.Compact();
                    // What the call below has is there until it ends.
                    int sum = 0;
                    foreach (byte one in slow.Given.Span)
                        sum += one;
                    Expect.True(sum > 0);
                }
                else
                {
                    throw new ContractException("the write did not wait");
                }
            }
        }
    }

    // The same array for all: it is the transform's.
    private sealed class Shared : ICryptoTransform
    {
        public readonly byte[] Last = [1, 2, 3, 4];

        public bool CanReuseTransform => true;
        public bool CanTransformMultipleBlocks => false;
        public int InputBlockSize => 4;
        public int OutputBlockSize => 4;
        public void Dispose() { }

        public byte[] TransformFinalBlock(byte[] inputBuffer, int inputOffset, int inputCount)
        {
            for (int i = 0; i < Last.Length; i++)
                Last[i] = (byte)(i + 1);  // the stream clears what it has handed out
            return Last;
        }

        public int TransformBlock(byte[] inputBuffer, int inputOffset, int inputCount, byte[] outputBuffer, int outputOffset)
        {
            inputBuffer.AsSpan(inputOffset, inputCount).CopyTo(outputBuffer.AsSpan(outputOffset));
            return inputCount;
        }
    }

    private static void TransformedBlocks()
    {
        var transform = new Shared();
        for (int i = 0; i < 100; i++)
        {
            var stream = new CryptoStream(new MemoryStream([5, 6, 7, 8, 9]), transform, CryptoStreamMode.Read);
            byte[] read = new byte[6];
            stream.ReadExactly(read);
            Expect.Equal(5 + 6 + 7 + 8 + 1 + 2, read.Sum(one => one));
            Heap.Delete(stream);
        }
        Heap.Delete(transform.Last);  // nobody has deleted it yet
    }

    private static void ZipEntries()
    {
        var target = new MemoryStream();
        for (int i = 0; i < 50; i++)
        {
            target.SetLength(0);
            using (var made = new ZipArchive(target, ZipArchiveMode.Create, true))
            {
                using Stream stream = made.CreateEntry("one").Open();
                stream.Write(s_bytes);
            }
            var archive = new ZipArchive(target, ZipArchiveMode.Update, true);
            ZipArchiveEntry kept = archive.CreateEntry("two"), deleted = archive.GetEntry("one")!;
            deleted.Delete();
            string name = kept.FullName;
            Heap.Delete(archive);
            Expect.SecondDeleteThrows(kept);
            Expect.Equal("two", name);
            Expect.Equal("one", deleted.FullName);
        }
    }
}
