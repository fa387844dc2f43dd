using System.Buffers.Binary;
using System.Text;

namespace Freehold.Tool.Dumps;

/// <summary>
/// Writes what is alive as a .gcdump, which PerfView, Visual Studio and 'dotnet-gcdump report' open: an object "GCHeapDump" of the serialization that their FastSerialization reads, with a
/// "Graphs.MemoryGraph" in it, in which nodes are the roots, a node for each kind of roots, and the objects.
/// </summary>
internal sealed class GcdumpWriter
{
    // Tags of the serialization.
    private const byte NullReference = 1;
    private const byte BeginObject = 4;
    private const byte EndObject = 6;
    private const byte TaggedByte = 8;
    private const byte TaggedString = 13;

    // What comes before the objects: the node of all roots, and one for each kind and for the program's file.
    private const int FrozenKind = 6;
    private const int FirstObject = FrozenKind + 2;

    private static readonly string[] s_kinds = ["[local vars]", "[thread static vars]", "[handles]", "[pinned handles]", "[handles of native code]", "[finalizer queue]", "[frozen objects]"];

    private readonly HeapGraph _graph;
    private readonly Stream _output;
    private readonly byte[] _number = new byte[8];
    private readonly MemoryStream _blob = new();
    private readonly List<int> _places = [];
    private readonly List<long> _addresses = [];
    private readonly List<(string Name, int Size)> _types = [];
    private readonly int[] _node;
    private long _totalSize;

    private GcdumpWriter(HeapGraph graph, Stream output)
    {
        _graph = graph;
        _output = output;
        _node = new int[graph.Count];
    }

    /// <exception cref="ToolException">The format has no room for so many objects.</exception>
    public static void Write(HeapGraph graph, Stream output) => new GcdumpWriter(graph, output).Write();

    private void Write()
    {
        MakeNodes();
        WriteString("!FastSerialization.1");
        _output.WriteByte(BeginObject);
        WriteType("GCHeapDump", version: 10, reader: 8);
        WriteGraph();
        WriteFacts();
        _output.WriteByte(EndObject);
        // No more objects; no forward references, where they are told of, and where that is.
        _output.WriteByte(EndObject);
        int references = Place();
        WriteInt(0);
        int trailer = Place();
        WriteInt(references);
        WriteInt(trailer);
    }

    private void MakeNodes()
    {
        int next = FirstObject;
        for (int i = 0; i < _graph.Count; i++)
        {
            _node[i] = _graph.States[i] == ObjectState.Deleted ? -1 : next++;
        }

        // A node that is not there, which readers know by its place.
        _types.Add(("UNDEFINED", 0));
        WriteCompressed(0);
        WriteCompressed(0);
        AddNode(AddType("[root]"), 0, 0, Enumerable.Range(1, s_kinds.Length));
        for (int kind = 0; kind < s_kinds.Length; kind++)
        {
            IEnumerable<int> targets = kind == FrozenKind
                ? Enumerable.Range(0, _graph.Count).Where(node => _graph.States[node] == ObjectState.Frozen)
                : _graph.Roots.Where(root => (int)root.Kind == kind && _node[root.Target] >= 0).Select(root => root.Target).Distinct();
            AddNode(AddType(s_kinds[kind]), 0, 0, targets.Select(target => _node[target]));
        }

        int firstType = _types.Count;
        foreach (string name in _graph.TypeNames)
        {
            AddType(name);
        }

        for (int i = 0; i < _graph.Count; i++)
        {
            if (_node[i] < 0)
            {
                continue;
            }

            var targets = new List<int>();
            foreach (int target in _graph.ReferencesOf(i))
            {
                if (target >= 0 && _node[target] >= 0)
                {
                    targets.Add(_node[target]);
                }
            }

            AddNode(firstType + _graph.Types[i], _graph.Sizes[i], _graph.Addresses[i], targets);
        }
    }

    private int AddType(string name)
    {
        _types.Add((name, -1));
        return _types.Count - 1;
    }

    private void AddNode(int type, long size, long address, IEnumerable<int> targets)
    {
        int node = _places.Count;
        if (_blob.Position > int.MaxValue - (1 << 20))
        {
            throw new ToolException("the heap is too large for a .gcdump.");
        }

        _places.Add((int)_blob.Position);
        _addresses.Add(address);
        int shown = (int)Math.Min(size, int.MaxValue);
        _totalSize += shown;
        if (_types[type].Size < 0)
        {
            _types[type] = (_types[type].Name, shown);
        }

        if (_types[type].Size == shown)
        {
            WriteCompressed(type << 1);
        }
        else
        {
            WriteCompressed((type << 1) | 1);
            WriteCompressed(shown);
        }

        List<int> all = [.. targets];
        WriteCompressed(all.Count);
        foreach (int target in all)
        {
            WriteCompressed(target - node);
        }
    }

    private void WriteGraph()
    {
        _output.WriteByte(BeginObject);
        WriteType("Graphs.MemoryGraph", version: 1, reader: 0);
        WriteLong(_totalSize);
        WriteInt(0);
        WriteInt(_types.Count);
        foreach ((string name, int size) in _types)
        {
            WriteString(name);
            WriteInt(size);
            WriteString(null);
        }

        WriteInt(_places.Count);
        foreach (int place in _places)
        {
            WriteInt(place);
        }

        WriteInt((int)_blob.Length);
        _blob.WriteTo(_output);
        WriteInt(_addresses.Count);
        foreach (long address in _addresses)
        {
            WriteLong(address);
        }

        _output.WriteByte(TaggedByte);
        _output.WriteByte(1);  // addresses of 64 bits
        _output.WriteByte(EndObject);
    }

    private void WriteFacts()
    {
        _output.WriteByte(1);  // of 64 bits
        WriteInt(BitConverter.SingleToInt32Bits(1));  // nothing was sampled: neither objects nor bytes
        WriteInt(BitConverter.SingleToInt32Bits(1));
        _output.WriteByte(NullReference);  // no heap of JavaScript, no segments
        _output.WriteByte(NullReference);
        WriteString("");
        WriteLong(_graph.Process.Time.UtcDateTime.Ticks);
        WriteString("");
        WriteString("");
        WriteInt((int)_graph.Process.Id);
        WriteLong(_graph.Process.ResidentBytes);
        WriteLong(_graph.Process.ResidentBytes);
        WriteInt(0);
        _output.WriteByte(TaggedString);
        WriteString("freehold");
    }

    // An object too, whose own type is told by null.
    private void WriteType(string name, int version, int reader)
    {
        _output.WriteByte(BeginObject);
        _output.WriteByte(NullReference);
        WriteInt(version);
        WriteInt(reader);
        WriteString(name);
        _output.WriteByte(EndObject);
    }

    private int Place() => _output.Position <= int.MaxValue ? (int)_output.Position : throw new ToolException("the heap is too large for a .gcdump.");

    private void WriteInt(int value)
    {
        BinaryPrimitives.WriteInt32LittleEndian(_number, value);
        _output.Write(_number, 0, sizeof(int));
    }

    private void WriteLong(long value)
    {
        BinaryPrimitives.WriteInt64LittleEndian(_number, value);
        _output.Write(_number, 0, sizeof(long));
    }

    // The readers take a byte for a character.
    private void WriteString(string? value)
    {
        WriteInt(value?.Length ?? -1);
        _output.Write(Encoding.ASCII.GetBytes(value ?? ""));
    }

    // Seven bits a byte, the highest first, the first with a sign.
    private void WriteCompressed(int value)
    {
        int bytes = 1;
        while (bytes < 5 && (value << (32 - (7 * bytes)) >> (32 - (7 * bytes))) != value)
        {
            bytes++;
        }

        for (int shift = 7 * (bytes - 1); shift > 0; shift -= 7)
        {
            _blob.WriteByte((byte)((value >> shift) | 0x80));
        }

        _blob.WriteByte((byte)(value & 0x7f));
    }
}
