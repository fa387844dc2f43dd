namespace Freehold.Maps.GcInfo;

/// <summary>
/// Reads the bit stream of the GC info: least significant bit first within bytes, bytes in order.
/// VL(n), unsigned: groups of n bits, lowest first, each followed by a bit that says whether another group comes.
/// VLS(n), signed: the same; the highest bit of the last group is the sign.
/// </summary>
public ref struct BitReader(ReadOnlySpan<byte> bytes)
{
    private readonly ReadOnlySpan<byte> _bytes = bytes;

    /// <summary>Bits from the start.</summary>
    public int Position { get; set; }

    public uint Read(int bits)
    {
        if (bits is < 0 or > 32)
        {
            throw new FormatException($"a field of {bits} bits at bit {Position}");
        }

        uint value = 0;
        for (int i = 0; i < bits; i++, Position++)
        {
            int index = Position >> 3;
            if ((uint)index >= (uint)_bytes.Length)
            {
                throw new FormatException($"the bit stream ends at bit {_bytes.Length * 8}");
            }

            value |= (uint)((_bytes[index] >> (Position & 7)) & 1) << i;
        }

        return value;
    }

    public bool ReadBit() => Read(1) != 0;

    public uint ReadVarUnsigned(int group)
    {
        ulong value = 0;
        for (int shift = 0; shift < 32; shift += group)
        {
            value |= (ulong)Read(group) << shift;
            if (!ReadBit())
            {
                return value <= int.MaxValue ? (uint)value : throw new FormatException($"a number above 2^31 before bit {Position}");
            }
        }

        throw new FormatException($"an endless number before bit {Position}");
    }

    public int ReadVarSigned(int group)
    {
        ulong value = 0;
        for (int shift = 0; shift < 32; shift += group)
        {
            value |= (ulong)Read(group) << shift;
            if (!ReadBit())
            {
                int unused = 64 - shift - group;
                return (int)((long)(value << unused) >> unused);
            }
        }

        throw new FormatException($"an endless number before bit {Position}");
    }

    public void Align(int bits) => Position = (Position + bits - 1) / bits * bits;
}
