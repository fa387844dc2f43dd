using System.Collections.Generic;

namespace Freehold.Rewriter;

/// <summary>A type of the framework and the parts that <c>Heap.Delete</c> of an object of it deletes too.</summary>
/// <param name="Type">Full name, as Cecil writes it; <c>a|b</c> as it is called in the versions.</param>
/// <param name="Reason">Why nobody else can need them when their owner is gone.</param>
/// <param name="Parts">
/// Each a path of fields: <c>a</c> what the field refers to; <c>a.b</c> field b of the structure or object in a; <c>a:T</c> only if it is a T; <c>a{}</c> the array or collection and what is in it; <c>a{b}</c> of what is in it, only
/// elements whose field b is the object itself; <c>a[].b</c> the array and
/// field b of the structures in it; <c>a-&gt;b</c> what a refers to and all that hangs on it by field b, in a list or ring;
/// <c>a-&gt;b^c</c> the same of a ring whose last one is a, from the first one to the one before that whose field c is neither the object itself nor the one before it in the ring;
/// <c>flag?a</c> only if the field flag is true, or has an object, <c>!flag?a</c> only if not; <c>new?a</c> only if no constructor was given an object of the field's type; <c>!m()?a</c> only if method m of the object was never called; <c>f.p()?a</c> only if property p of what field f has is true;
/// <c>a:T{b=c}</c> what the field refers to, only if it is a T whose field b is what field c of the object is; <c>a:T{E.b=c}</c> the collection, and of what is in it such elements of type E; <c>a|b</c> as the one is called in one version and the other in another. Empty: nothing, and nothing of the bases either.
/// </param>
public sealed record OwnedPartsRow(string Type, string Reason, params string[] Parts);

/// <summary>The reviewed table of what the framework's types own. A type or field that a version does not have fails the rewrite.</summary>
public static class OwnedPartsTable
{
    private const string Copied = "made by the type itself, never given out but as a span or by an unsafe accessor";
    private const string Node = "nodes are private to the collection";
    private const string Inner = "made by the stream, which gives nobody but the streams of a call the inner one";
    private const string PendingBuffer = "!_activeAsyncOperation?_buffer";
    private const string Tree = "a node in a tree is its parent's; one that was removed is not in it";
    private const string View = "the array, and views that only read their owner";

    /// <summary>All rows. Which assembly has a type differs by version.</summary>
    public static IReadOnlyList<OwnedPartsRow> Rows { get; } =
    [
        new("System.Collections.Generic.List`1", Copied, "_items"),
        new("System.Collections.Generic.Dictionary`2", View, "_buckets", "_entries", "_keys", "_values"),
        new("System.Collections.Generic.HashSet`1", Copied, "_buckets", "_entries"),
        new("System.Collections.Generic.Queue`1", Copied, "_array"),
        new("System.Collections.ArrayList", Copied, "_items"),
        new("System.Collections.Hashtable", View, "_buckets", "_keys", "_values"),
        new("System.Collections.Concurrent.ConcurrentQueue`1", "segments are private to the queue and its enumerators", "_crossSegmentLock", "_head"),
        new("System.Collections.Concurrent.ConcurrentQueueSegment`1", "made by the queue", "_slots", "_nextSegment"),
        new("System.Text.StringBuilder", "chunks are builders that only the last one leads to; spans of chunks end with it", "m_ChunkChars", "m_ChunkPrevious"),
        new("System.IO.MemoryStream", "a buffer that the stream made, which can grow, and not one that it was given; GetBuffer says that it is the stream's; CopyToAsync gives it to a call that may be pending", "!CopyToAsync()?_expandable?_buffer"),
        new("System.IO.BufferedStream", "given to nobody but the calls of the stream below; a pending one, for which there is a semaphore, may use it", "!_asyncActiveSemaphore?_buffer"),
        new("System.IO.FileStream", "the strategy is private; the handle, which is not, stays; a pending call may use the strategy", "!ReadAsync()?!WriteAsync()?!CopyToAsync()?!BeginRead()?!BeginWrite()?_strategy"),
        new("System.IO.Strategies.BufferedFileStreamStrategy", "as BufferedStream", "!_asyncActiveSemaphore?_strategy", "!_asyncActiveSemaphore?_buffer"),
        new("System.IO.StreamReader", "the stream below may be somebody's and stays, as may the decoder, which an encoding of the program's gave; a pending call may use the others", "!ReadAsyncInternal()?_asyncReadTask.IsCompleted()?_byteBuffer", "!ReadAsyncInternal()?_asyncReadTask.IsCompleted()?_charBuffer"),
        new("System.IO.StreamWriter", "the stream below may be somebody's and stays, as may the encoder, which an encoding of the program's gave; a pending call may use the others", "_asyncWriteTask.IsCompleted()?_byteBuffer", "_asyncWriteTask.IsCompleted()?_charBuffer"),
        new("System.IO.BinaryReader", "the decoder, which an encoding of the program's gave, may be shared and stays", "_charBuffer"),
        new("System.Random", "implementations are private", "_impl"),
        new("System.Random/Net5CompatSeedImpl|System.Random/CompatSeedImpl", Copied, "_prng._seedArray"),
        new("System.Random/Net5CompatDerivedImpl|System.Random/CompatDerivedImpl", Copied, "_prng._seedArray"),
        new("System.Threading.Timer", "the holder is private; its finalizer ends the timer", "_timer"),
        new("System.Threading.SemaphoreSlim", "the lock is private; the wait handle, which is not, stays", "m_lockObjAndDisposed"),
        new("System.Threading.ManualResetEventSlim", "the lock is private; the wait handle, which is not, stays", "m_lock"),
        new("System.Threading.CountdownEvent", "the event is private, but for its wait handle, which stays", "_event"),
        new("System.IO.StringWriter", "a builder that the writer made, and not one that it was given; GetStringBuilder says that it is the writer's", "new?_sb"),
        new("System.Collections.Generic.Stack`1", Copied, "_array"),
        new("System.Collections.Generic.PriorityQueue`2", View, "_nodes", "_unorderedItems|<UnorderedItems>k__BackingField"),
        new("System.Collections.Generic.LinkedList`1", "a node in a list is the list's; one that was removed is not in it", "head->next"),
        new("System.Collections.Generic.SortedSet`1", Node, "root"),
        new("System.Collections.Generic.SortedSet`1/TreeSubSet", "a view: the nodes are those of the set below"),
        new("System.Collections.Generic.SortedSet`1/Node", Node, "<Left>k__BackingField", "<Right>k__BackingField"),
        new("System.Collections.Generic.SortedDictionary`2", "the tree is private, the views only read it", "_set", "_keys", "_values"),
        new("System.Collections.Generic.SortedList`2", View, "keys", "values", "keyList", "valueList"),
        new("System.Collections.Generic.OrderedDictionary`2", View, "_buckets", "_entries", "_keys|<Keys>k__BackingField", "_values|<Values>k__BackingField"),
        new("System.Collections.BitArray", Copied, "m_array|_array"),
        new("System.Collections.Concurrent.ConcurrentDictionary`2", "tables are private; a thread that still reads uses a deleted dictionary", "_tables"),
        new("System.Collections.Concurrent.ConcurrentDictionary`2/Tables", "made by the dictionary", "_buckets[]._node", "_locks{}", "_countPerLock"),
        new("System.Collections.Concurrent.ConcurrentDictionary`2/Node", Node, "_next"),
        new("System.Collections.Concurrent.ConcurrentStack`1", Node, "_head"),
        new("System.Collections.Concurrent.ConcurrentStack`1/Node", Node, "_next"),
        new("System.Collections.Concurrent.ConcurrentBag`1", "the queues of the threads are private", "_workStealingQueues"),
        new("System.Collections.Concurrent.ConcurrentBag`1/WorkStealingQueue", "made by the bag", "_array", "_nextQueue"),
        new("System.Collections.Concurrent.BlockingCollection`1", "made by the collection, and never given out", "new?_collection", "_freeNodes", "_occupiedNodes"),
        new("System.Threading.Barrier", "made by the barrier, and never given out", "_oddEvent", "_evenEvent"),
        new("System.Collections.Queue", Copied, "_array"),
        new("System.Collections.Stack", Copied, "_array"),
        new("System.Collections.SortedList", View, "keys", "values", "keyList", "valueList"),
        new("System.Collections.Specialized.ListDictionary", Node, "head"),
        new("System.Collections.Specialized.ListDictionary/DictionaryNode", Node, "next"),
        new("System.Collections.Specialized.HybridDictionary", "made by the type itself", "list", "hashtable"),
        new("System.Collections.Immutable.ImmutableArray`1/Builder", "ToImmutable copies it; MoveToImmutable and DrainToImmutable leave the builder an empty one", "_elements"),
        new("System.Buffers.ArrayBufferWriter`1", "WrittenMemory says that it is the writer's", "_buffer"),
        new("System.Threading.Channels.UnboundedChannel`1", "the queue is private", "_items"),
        new("System.Threading.Channels.BoundedChannel`1", "the queue is private", "_items"),
        new("System.Collections.Generic.Deque`1", Copied, "_array"),
        new("System.Text.Json.JsonDocument", "the document's own table, until it is disposed; a rented copy of the text too", "_parsedData._data", "_extraRentedArrayPoolBytes"),
        new("System.Text.Json.Nodes.JsonObject", "a node in a tree is its parent's; one whose insertion failed is in two trees, and the first one's", "_dictionary{_parent}"),
        new("System.Text.Json.Nodes.JsonArray", "as above", "_list{_parent}"),
        new("System.Text.RegularExpressions.Match", "groups and captures belong to their match", "_groupcoll", "_matches{}", "_matchcount"),
        new("System.Text.RegularExpressions.Group", "captures belong to their group; the numbers are those of the match, which reads them without its groups", "_capcoll"),
        new("System.Text.RegularExpressions.GroupCollection", "made by the match", "_groups{}"),
        new("System.Text.RegularExpressions.CaptureCollection", "made by the group", "_captures{}"),
        new("System.Threading.ReaderWriterLockSlim", "the events are made by the lock, which waits for them and gives them to nobody", "_writeEvent._waitHandle", "_writeEvent", "_readEvent._waitHandle", "_readEvent", "_upgradeEvent._waitHandle", "_upgradeEvent", "_waitUpgradeEvent._waitHandle", "_waitUpgradeEvent"),
        new("System.IO.Compression.DeflateStream", "the stream below may be somebody's and stays; a pending call may use the others", PendingBuffer, "!_activeAsyncOperation?_inflater", "!_activeAsyncOperation?_deflater"),
        new("System.IO.Compression.GZipStream", Inner, "_deflateStream"),
        new("System.IO.Compression.ZLibStream", Inner, "_deflateStream"),
        new("System.IO.Compression.BrotliStream", "as DeflateStream; the handles are private, as the structures are copied to nobody", PendingBuffer, "!_activeAsyncOperation?_encoder._state", "!_activeAsyncOperation?_decoder._state"),
        new("System.IO.Compression.ZipArchive", "an entry is its archive's; one that was deleted from it is not in it", "_entriesCollection", "_entriesDictionary", "_entries{_archive}"),
        new("System.IO.Compression.ZipArchiveEntry", "made by the entry; a stream that it has opened uses the entry too. An encoding may have given others the bytes of names", "_compressedBytes{}", "_storedUncompressedData"),
        new("System.Security.Cryptography.CryptoStream", "the stream below and the transform stay, as does what the transform returned; a pending call, for which there is a semaphore, may use the buffers", "!_lazyAsyncActiveSemaphore?!_finalBlockTransformed?_inputBuffer", "!_lazyAsyncActiveSemaphore?!_finalBlockTransformed?_outputBuffer"),
        new("System.Text.Json.Utf8JsonWriter", "made by the writer for a stream, and not a writer that it was given", "_arrayBufferWriter"),
        new("System.Xml.Linq.XContainer", Tree, "content:System.Xml.Linq.XNode->next"),
        new("System.Xml.Linq.XElement", Tree, "lastAttr->next"),
        new("System.Xml.XmlDocument", "a node in a tree is its parent's; names, which a removed node has too, stay", "_domNameTable", "_lastChild->next^parentNode"),
        new("System.Xml.DomNameTable", "the array is private; the names in it stay", "_entries"),
        new("System.Xml.XmlElement", Tree, "_attributes", "_lastChild->next^parentNode"),
        new("System.Xml.XmlAttribute", Tree, "_lastChild->next^parentNode"),
        new("System.Xml.XmlEntityReference", Tree, "_lastChild->next^parentNode"),
        new("System.Xml.XmlDocumentFragment", Tree, "_lastChild->next^parentNode"),
        new("System.Xml.XmlNamedNodeMap", "a node in a map is the map's, as an attribute is its element's; one that a handler of an event put into two maps is the one's whose element is its parent", "nodes._field:System.Xml.XmlNode{parentNode=parent}", "nodes._field:System.Collections.IList{System.Xml.XmlNode.parentNode=parent}"),
        new("System.Text.RegularExpressions.MatchCollection", "made by the collection, as far as they were asked for", "_matches{}"),
    ];
}
