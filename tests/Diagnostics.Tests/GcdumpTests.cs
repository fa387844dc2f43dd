using System.Text;
using Freehold.Tool.Dumps;

namespace Freehold.Diagnostics.Tests;

/// <summary>The .gcdump of a dump, read as the viewers' library does.</summary>
public sealed class GcdumpTests
{
    [Fact]
    public void AViewerFindsObjectsTypesAndRoots()
    {
        byte[] file = new DumpMaker()
            .Object(0x5000, "Tree", 64, 0, 0x1000, 0x1100, 0x1200)
            .Object(0x1000, "Leaf", 24, 0, 0x9000)
            .Object(0x1100, "Leaf", 32, 0, 0x5000)
            .Object(0x1200, "Leaf", 48, 1)
            .Object(0x9000, "System.String", 5_000_000_000, 2)
            .Root(0, 77, 0x5000).Root(0, 78, 0x5000).Root(3, 0, 0x1100).Root(2, 0, 0x1200).ToBytes();
        using var output = new MemoryStream();
        GcdumpWriter.Write(DumpReader.Read(new MemoryStream(file), "the dump"), output);
        output.Position = 0;
        Dictionary<long, (string Type, int Size, string[] Children)> nodes = new Reader(output).Read(out string[] roots);
        Assert.Equal(["[local vars] -> 5000", "[pinned handles] -> 1100", "[frozen objects] -> 9000"], roots);
        Assert.Equal(4, nodes.Count);
        Assert.Equal(("Tree", 64, "1000 1100"), Node(0x5000));
        Assert.Equal(("Leaf", 24, "9000"), Node(0x1000));
        Assert.Equal(("Leaf", 32, "5000"), Node(0x1100));
        Assert.Equal(("System.String", int.MaxValue, ""), Node(0x9000));

        (string, int, string) Node(long address) => (nodes[address].Type, nodes[address].Size, string.Join(' ', nodes[address].Children));
    }

    private sealed class Reader(MemoryStream stream)
    {
        private readonly BinaryReader _reader = new(stream);

        public Dictionary<long, (string Type, int Size, string[] Children)> Read(out string[] roots)
        {
            // From the end: the table of forward references is behind all objects.
            stream.Position = stream.Length - 4;
            int trailer = _reader.ReadInt32();
            Assert.Equal(stream.Length - 8, trailer);
            stream.Position = trailer;
            stream.Position = _reader.ReadInt32();
            Assert.Equal(0, _reader.ReadInt32());

            stream.Position = 0;
            Assert.Equal("!FastSerialization.1", Text());
            Type("GCHeapDump", 10, 8);
            Type("Graphs.MemoryGraph", 1, 0);
            long total = _reader.ReadInt64();
            int root = _reader.ReadInt32();
            (string Name, int Size)[] types = [.. Enumerable.Range(0, _reader.ReadInt32()).Select(_ => (Text()!, _reader.ReadInt32(), Text())).Select(type => (type.Item1, type.Item2))];
            int[] places = [.. Enumerable.Range(0, _reader.ReadInt32()).Select(_ => _reader.ReadInt32())];
            byte[] blob = _reader.ReadBytes(_reader.ReadInt32());
            long[] addresses = [.. Enumerable.Range(0, _reader.ReadInt32()).Select(_ => _reader.ReadInt64())];
            Assert.Equal(places.Length, addresses.Length);
            Bytes(8, 1, 6);
            Bytes(1, 0, 0, 0x80, 0x3f, 0, 0, 0x80, 0x3f, 1, 1);
            Assert.Equal("", Text());
            Assert.Equal(DateTimeOffset.FromUnixTimeSeconds(1_700_000_000).UtcTicks, _reader.ReadInt64());
            Assert.Equal("", Text());
            Assert.Equal("", Text());
            Assert.Equal(4242, _reader.ReadInt32());
            Assert.Equal(65_536, _reader.ReadInt64());
            Assert.Equal(65_536, _reader.ReadInt64());
            Assert.Equal(0, _reader.ReadInt32());
            Bytes(13);
            Assert.Equal("freehold", Text());
            Bytes(6, 6);

            var decoded = new List<(string Type, int Size, int[] Children)>();
            for (int node = 0; node < places.Length; node++)
            {
                int at = places[node], type = Compressed(blob, ref at);
                int size = (type & 1) != 0 ? Compressed(blob, ref at) : types[type >> 1].Size;
                int[] children = new int[Compressed(blob, ref at)];
                for (int i = 0; i < children.Length; i++)
                    children[i] = Compressed(blob, ref at) + node;
                decoded.Add((types[type >> 1].Name, size, children));
            }
            Assert.Equal(total, decoded.Sum(node => (long)node.Size));
            Assert.Equal("[root]", decoded[root].Type);
            roots = [.. decoded[root].Children.SelectMany(kind => decoded[kind].Children.Select(child => $"{decoded[kind].Type} -> {addresses[child]:x}"))];
            return Enumerable.Range(0, places.Length).Where(node => addresses[node] != 0)
                .ToDictionary(node => addresses[node], node => (decoded[node].Type, decoded[node].Size, decoded[node].Children.Select(child => $"{addresses[child]:x}").ToArray()));
        }

        private static int Compressed(byte[] bytes, ref int at)
        {
            int value = bytes[at] << 25 >> 25;
            while ((bytes[at++] & 0x80) != 0)
                value = (value << 7) + (bytes[at] & 0x7f);
            return value;
        }

        private void Type(string name, int version, int reader)
        {
            Bytes(4, 4, 1);
            Assert.Equal(version, _reader.ReadInt32());
            Assert.Equal(reader, _reader.ReadInt32());
            Assert.Equal(name, Text());
            Bytes(6);
        }

        private void Bytes(params byte[] expected) => Assert.Equal(expected, _reader.ReadBytes(expected.Length));

        private string? Text() => _reader.ReadInt32() is >= 0 and int length ? Encoding.ASCII.GetString(_reader.ReadBytes(length)) : null;
    }
}
