using System.Buffers.Binary;
using System.Text;

namespace Freehold.Diagnostics.Tests;

/// <summary>Writes dumps as docs/internals/heap-dump.md says, for the tests of who reads them.</summary>
internal sealed class DumpMaker
{
    private readonly List<byte> _records = [];
    private readonly List<string> _types = [];
    private long _last;
    private ulong _objects, _references, _roots;

    public DumpMaker() => Record('P', 4242, 1_700_000_000, 9_000, 1_000, 65_536);

    /// <summary>A type that has no object yet must be the next number.</summary>
    public DumpMaker Object(long address, string type, long size, int state = 0, params long[] references)
    {
        if (!_types.Contains(type))
            _types.Add(type);
        _records.Add((byte)'O');
        Number((ulong)((_types.IndexOf(type) << 2) | state));
        Difference((address - _last) / 8);
        Number((ulong)(size / 8));
        Number((ulong)references.Length);
        foreach (long reference in references)
            Difference((reference - address) / 8);
        _last = address;
        _objects++;
        _references += (ulong)references.Length;
        return this;
    }

    public DumpMaker Root(int kind, long thread, long address)
    {
        _roots++;
        return Record('R', (ulong)kind, (ulong)thread, (ulong)address / 8);
    }

    public DumpMaker Dependent(long primary, long secondary) => Record('D', (ulong)primary / 8, (ulong)secondary / 8);

    public DumpMaker Record(char kind, params ulong[] numbers)
    {
        _records.Add((byte)kind);
        foreach (ulong number in numbers)
            Number(number);
        return this;
    }

    /// <summary>The file, in frames of that many bytes.</summary>
    public byte[] ToBytes(int frame = 65_536, bool ends = true)
    {
        var records = new List<byte>(_records);
        if (ends)
        {
            foreach (string type in _types)
            {
                byte[] name = Encoding.UTF8.GetBytes(type);
                _records.Add((byte)'T');
                Number((ulong)name.Length);
                _records.AddRange(name);
            }
            Record('E', _objects, _references, _roots, (ulong)_types.Count);
        }
        var file = new List<byte>(Encoding.Latin1.GetBytes("FHDUMP\r\n")) { 1, 0, 0, 0, 0, 0, 0, 0 };
        foreach (byte[] part in _records.Chunk(frame).Append([]))
        {
            byte[] head = new byte[8];
            BinaryPrimitives.WriteUInt32LittleEndian(head, (uint)part.Length);
            BinaryPrimitives.WriteUInt32LittleEndian(head.AsSpan(4), part.Length == 0 ? 0 : Tool.Dumps.Checksum.Of(part));
            file.AddRange(head);
            file.AddRange(part);
        }
        _records.Clear();
        _records.AddRange(records);
        return [.. file];
    }

    private void Number(ulong value)
    {
        for (; value >= 0x80; value >>= 7)
            _records.Add((byte)(value | 0x80));
        _records.Add((byte)value);
    }

    private void Difference(long value) => Number(((ulong)value << 1) ^ (ulong)(value >> 63));
}
