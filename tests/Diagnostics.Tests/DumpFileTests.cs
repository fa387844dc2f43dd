using System.Buffers.Binary;
using System.Text;
using System.Text.Json;
using Freehold.Tool;
using Freehold.Tool.Dumps;

namespace Freehold.Diagnostics.Tests;

/// <summary>Who reads dumps: what is in them, what cannot be, and dominators beside a model.</summary>
public sealed class DumpFileTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("freehold-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void TheChecksumIsThatOfZip() => Assert.Equal(0xcbf43926, Checksum.Of("123456789"u8));

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(65_536)]
    public void ObjectsRootsAndReferencesAreRead(int frame)
    {
        HeapGraph graph = Read(Known().ToBytes(frame));
        Assert.Equal(4242, graph.Process.Id);
        Assert.Equal(65_536, graph.Process.ResidentBytes);
        Assert.Equal(["Tree", "Leaf", "System.String"], graph.TypeNames);
        Assert.Equal([0x5000, 0x1000, 0x1100, 0x1200, 0x1300, 0x9000], graph.Addresses);
        Assert.Equal([0, 1, 1, 1, 1, 2], graph.Types);
        Assert.Equal([1, 2, HeapGraph.Gone], graph.ReferencesOf(0).ToArray());
        Assert.Equal([5], graph.ReferencesOf(1).ToArray());
        Assert.Equal([4], graph.ReferencesOf(2).ToArray());  // of the dependent handle
        Assert.Equal([new Root(RootKind.Stack, 77, 0), new Root(RootKind.Handle, 0, 2)], graph.Roots);
        Assert.Equal(ObjectState.Deleted, graph.States[3]);
        Assert.Equal(ObjectState.Frozen, graph.States[5]);
    }

    [Fact]
    public void TheAnalysisSaysWhatIsWhat()
    {
        var analysis = new HeapAnalysis(Read(Known().ToBytes()));
        Assert.Equal([new TypeSum("Leaf", 3, 24 + 32 + 40, 24 + 32 + 40), new TypeSum("Tree", 1, 64, 64 + 24)], analysis.Live);
        Assert.Equal([new TypeSum("Leaf", 1, 48, 0)], analysis.Deleted);
        Assert.Equal([new TypeSum("System.String", 1, 56, 0)], analysis.Frozen);
        Assert.Empty(analysis.Unreachable);
        Assert.Equal([new DanglingSum("Tree", null, 1)], analysis.Dangling);
    }

    /// <summary>Literals never go: neither they nor what they hold is what would go with the objects of a type.</summary>
    [Fact]
    public void WhatIsFrozenRetainsNothing()
    {
        var analysis = new HeapAnalysis(Read(Known().Object(0x2000, "System.String", 32).Object(0x2100, "Leaf", 24).Object(0x9100, "Leaf", 40, 2, 0x2100).Root(2, 0, 0x2000).ToBytes()));
        Assert.Contains(new TypeSum("System.String", 1, 32, 32), analysis.Live);
        Assert.Contains(new TypeSum("Leaf", 4, 24 + 24 + 32 + 40, 24 + 24 + 32 + 40), analysis.Live);
    }

    /// <summary>In whatever parts it comes.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    [InlineData(100_000)]
    public void TheEndIsFoundWhileItComes(int part)
    {
        byte[] whole = Known().ToBytes(frame: 40);
        var end = new DumpEnd();
        foreach (byte[] next in whole.Chunk(part))
        {
            Assert.False(end.IsReached);
            end.Take(next);
        }
        Assert.True(end.IsReached);
        Assert.Throws<ToolException>(() => end.Take([0]));
    }

    [Fact]
    public async Task TheCommandPrintsTablesAPathAndJson()
    {
        string file = Path.Combine(_folder.FullName, "a.fhdump");
        File.WriteAllBytes(file, Known().Object(0x2000, "Lost\u001b[2J", 24).ToBytes());
        (int code, string text, string error) = await RunningProgram.ToolAsync("analyze", file);
        Assert.True(code == 0, error);
        foreach (string expected in new[] { "Process 4242", "By type", "Tree", "Unreachable", "Deleted, and memory still held", "memory that was given back", @"Lost\u001b[2J" })
            Assert.Contains(expected, text);
        Assert.DoesNotContain('\u001b', text);
        Assert.Contains("other types (--top)", (await RunningProgram.ToolAsync("analyze", file, "--top", "1")).Output);

        JsonElement json = JsonDocument.Parse((await RunningProgram.ToolAsync("analyze", file, "--json")).Output).RootElement;
        Assert.Equal(3, json.GetProperty("types").EnumerateArray().Single(type => type.GetProperty("type").GetString() == "Leaf").GetProperty("count").GetInt32());
        Assert.Equal(1, json.GetProperty("roots").GetProperty("stack").GetInt32());

        string[] path = (await RunningProgram.ToolAsync("analyze", file, "--path", "0x1300")).Output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(3, path.Length);
        Assert.Contains("a handle", path[0]);
        Assert.Contains("1100", path[1]);
        Assert.Contains("1300", path[2]);
        Assert.Contains("the stack of thread 77", (await RunningProgram.ToolAsync("analyze", file, "--path", "tree")).Output);
        Assert.Contains("No root", (await RunningProgram.ToolAsync("analyze", file, "--path", "2000")).Output);
        (code, _, error) = await RunningProgram.ToolAsync("analyze", file, "--path", "Nothing");
        Assert.Equal(3, code);
        Assert.Contains("Nothing", error);
    }

    [Fact]
    public async Task WhatIsNoDumpIsToldOf()
    {
        string file = Path.Combine(_folder.FullName, "a.fhdump");
        (int code, _, string error) = await RunningProgram.ToolAsync("analyze", file);
        Assert.Equal(3, code);
        Assert.Contains("cannot be read", error);
        foreach ((byte[] bytes, string words) in new[] { (Array.Empty<byte>(), "no dump"), ("FHDUMP\n\n........"u8.ToArray(), "no dump"), (new byte[100], "no dump") })
        {
            File.WriteAllBytes(file, bytes);
            (code, _, error) = await RunningProgram.ToolAsync("analyze", file);
            Assert.Equal(3, code);
            Assert.Contains(words, error);
        }
        byte[] later = Known().ToBytes();
        later[8] = 2;
        Assert.Contains("version 2", Assert.Throws<ToolException>(() => Read(later)).Message);
    }

    [Fact]
    public void AFileThatWasCutOffIsToldOf()
    {
        byte[] whole = Known().ToBytes(frame: 40);
        for (int length = 0; length < whole.Length; length++)
            Assert.Throws<ToolException>(() => Read(whole[..length]));
        Assert.Contains("damaged at byte", Assert.Throws<ToolException>(() => Read([.. whole, 0])).Message);
        Assert.Contains("before its last record", Assert.Throws<ToolException>(() => Read(Known().ToBytes(ends: false))).Message);
    }

    /// <summary>Each bit that is wrong is seen: by the checksums, in the frames, or in the header (but for its flags, which mean nothing yet).</summary>
    [Fact]
    public void AFileWithAWrongBitIsToldOf()
    {
        byte[] whole = Known().ToBytes(frame: 50);
        for (int bit = 0; bit < whole.Length * 8; bit++)
        {
            if (bit / 8 is >= 12 and < 16)
                continue;
            byte[] damaged = [.. whole];
            damaged[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.Throws<ToolException>(() => Read(damaged));
        }
    }

    /// <summary>Records that are wrong in themselves, though their checksums are right: nothing but a message comes of them.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    public void HostileRecordsAreToldOf(int seed)
    {
        var random = new Random(seed);
        for (int i = 0; i < 2_000; i++)
        {
            byte[] file = Known().ToBytes();
            // Within the one frame that has records.
            for (int changes = random.Next(1, 4); changes > 0; changes--)
                file[random.Next(24, file.Length - 8)] = (byte)random.Next(256);
            int length = file.Length - 8 - 24;
            BinaryPrimitives.WriteUInt32LittleEndian(file.AsSpan(20), Checksum.Of(file.AsSpan(24, length)));
            try
            {
                var analysis = new HeapAnalysis(Read(file));
                Assert.True(analysis.Live.Count + analysis.Deleted.Count + analysis.Frozen.Count > 0);
            }
            catch (ToolException exception)
            {
                Assert.Contains("damaged at byte", exception.Message);
            }
        }
    }

    [Fact]
    public void WhatCannotBeIsToldOf()
    {
        Damaged("overlap", new DumpMaker().Object(0x1000, "A", 64).Object(0x1008, "A", 64));
        Damaged("overlap", new DumpMaker().Object(0x1000, "A", 24).Object(0x1000, "A", 24));
        Damaged("references", new DumpMaker().Record('O', 0, 100, 3, 4));
        Damaged("the type 5", new DumpMaker().Record('O', 5 << 2, 100, 3, 0));
        Damaged("no state", new DumpMaker().Record('O', 3, 100, 3, 0));
        Damaged("no size", new DumpMaker().Record('O', 0, 100, 0, 0));
        Damaged("no address", new DumpMaker().Record('O', 0, 1, 3, 0));
        Damaged("kind 9", new DumpMaker().Record('R', 9, 0, 0));
        Damaged("kind 120", new DumpMaker().Record('x'));
        Damaged("announces", new DumpMaker().Record('E', 1, 0, 0, 0));
        Damaged("bytes", new DumpMaker().Record('T', ulong.MaxValue));
        DumpMaker endless = new DumpMaker().Record('R');
        for (int i = 0; i < 10; i++)
            endless.Record('\u0080');
        Damaged("64 bits", endless);

        static void Damaged(string words, DumpMaker dump) => Assert.Contains(words, Assert.Throws<ToolException>(() => Read(dump.ToBytes())).Message);
    }

    /// <summary>An object dominates another one exactly if that is not reached without it.</summary>
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public void DominatorsAreThoseOfTheModel(int seed)
    {
        var random = new Random(seed);
        for (int round = 0; round < 200; round++)
        {
            HeapGraph graph = RandomGraph(random);
            var dominators = Dominators.Find(graph);
            bool[] reached = Reach(graph, without: -1);
            for (int node = 0; node < graph.Count; node++)
                Assert.Equal(reached[node], dominators.IsReached(node));
            long[] retained = new long[graph.Count];
            for (int node = 0; node < graph.Count; node++)
            {
                if (!reached[node])
                    continue;
                bool[] without = Reach(graph, node);
                for (int other = 0; other < graph.Count; other++)
                {
                    bool dominates = reached[other] && !without[other];
                    bool said = false;
                    for (int above = other; above >= 0 && dominators.IsReached(other); above = dominators.Of[above])
                        said |= above == node;
                    Assert.True(dominates == said, $"seed {seed}, round {round}: {node} over {other}: {said}");
                    retained[node] += dominates ? graph.Sizes[other] : 0;
                }
            }
            Assert.Equal(retained, dominators.Retained);
        }
    }

    /// <summary>Neither recursion nor time that grows with the square: a chain; and one in both directions, with one object that all refer to.</summary>
    [Fact]
    public void AMillionObjectsInARowAreNoTrouble()
    {
        const int Count = 1_000_000;
        int[] first = [.. Enumerable.Range(0, Count + 1).Select(i => i * 3)], references = new int[Count * 3];
        for (int i = 0; i < Count; i++)
        {
            references[i * 3] = i + 1 < Count ? i + 1 : 0;
            references[(i * 3) + 1] = Math.Max(0, i - 1);
            references[(i * 3) + 2] = Count - 1;
        }
        HeapGraph graph = Graph([.. Enumerable.Repeat(24L, Count)], first, references, [0], new ObjectState[Count]);
        var dominators = Dominators.Find(graph);
        Assert.Equal(24L * Count, dominators.Retained[0]);
        Assert.All(dominators.Of.Skip(1), above => Assert.Equal(0, above));
        Assert.Equal(24, dominators.Retained[1]);

        HeapGraph chain = Graph([.. Enumerable.Repeat(24L, Count)], [.. Enumerable.Range(0, Count), Count - 1], [.. Enumerable.Range(1, Count - 1)], [0], new ObjectState[Count]);
        dominators = Dominators.Find(chain);
        for (int i = 0; i < Count; i++)
            Assert.Equal(24L * (Count - i), dominators.Retained[i]);
    }

    private static DumpMaker Known() => new DumpMaker()
        .Object(0x5000, "Tree", 64, 0, 0x1000, 0x1100, 0x7000)
        .Object(0x1000, "Leaf", 24, 0, 0x9000)
        .Object(0x1100, "Leaf", 32)
        .Object(0x1200, "Leaf", 48, 1)
        .Object(0x1300, "Leaf", 40)
        .Object(0x9000, "System.String", 56, 2)
        .Root(0, 77, 0x5000).Root(2, 0, 0x1100).Dependent(0x1100, 0x1300);

    private static HeapGraph Read(byte[] bytes) => DumpReader.Read(new MemoryStream(bytes), "the dump");

    private static HeapGraph RandomGraph(Random random)
    {
        int count = random.Next(1, 25);
        int[] first = new int[count + 1];
        var references = new List<int>();
        // Sparse, so that there is something to dominate.
        int most = random.Next(1, 5);
        for (int i = 0; i < count; i++)
        {
            first[i] = references.Count;
            for (int n = random.Next(most); n > 0; n--)
                references.Add(random.Next(10) == 0 ? HeapGraph.Gone : random.Next(count));
        }
        first[count] = references.Count;
        return Graph([.. Enumerable.Range(0, count).Select(_ => (long)random.Next(3, 10) * 8)], first, [.. references], [.. Enumerable.Range(0, random.Next(1, 4)).Select(_ => random.Next(count))],
            [.. Enumerable.Range(0, count).Select(_ => random.Next(8) switch { 0 => ObjectState.Deleted, 1 => random.Next(3) == 0 ? ObjectState.Frozen : ObjectState.Live, _ => ObjectState.Live })]);
    }

    private static HeapGraph Graph(long[] sizes, int[] first, int[] references, int[] roots, ObjectState[] states) => new()
    {
        Process = default,
        TypeNames = ["A"],
        Addresses = [.. Enumerable.Range(1, sizes.Length).Select(i => i * 4096L)],
        Types = new int[sizes.Length],
        Sizes = sizes,
        States = states,
        FirstReference = first,
        References = references,
        Roots = [.. roots.Select(root => new Root(RootKind.Stack, 1, root))],
    };

    private static bool[] Reach(HeapGraph graph, int without)
    {
        bool[] reached = new bool[graph.Count];
        var queue = new Queue<int>(graph.Starts());
        while (queue.TryDequeue(out int node))
        {
            if (node == without || reached[node])
                continue;
            reached[node] = true;
            foreach (int target in graph.ReferencesOf(node))
            {
                if (target >= 0 && graph.States[target] != ObjectState.Deleted)
                    queue.Enqueue(target);
            }
        }
        return reached;
    }
}
