namespace Freehold.Maps.Tests;

/// <summary>The writer that the decoder's table describes: least significant bit first.</summary>
internal sealed class BitWriter
{
    private readonly List<bool> _bits = [];

    public int Length => _bits.Count;

    public BitWriter Bits(int count, uint value)
    {
        for (int i = 0; i < count; i++)
        {
            _bits.Add(((value >> i) & 1) != 0);
        }

        return this;
    }

    public BitWriter Bit(bool value) => Bits(1, value ? 1u : 0u);

    public BitWriter Var(int group, uint value)
    {
        while (true)
        {
            Bits(group, value & ((1u << group) - 1));
            value >>= group;
            Bit(value != 0);
            if (value == 0)
            {
                return this;
            }
        }
    }

    public BitWriter VarSigned(int group, int value)
    {
        while (true)
        {
            Bits(group, (uint)value & ((1u << group) - 1));
            bool negative = ((value >> (group - 1)) & 1) != 0;
            value >>= group;
            bool more = value != (negative ? -1 : 0);
            Bit(more);
            if (!more)
            {
                return this;
            }
        }
    }

    public BitWriter Align()
    {
        while (_bits.Count % 8 != 0)
        {
            _bits.Add(false);
        }

        return this;
    }

    public byte[] ToArray()
    {
        byte[] bytes = new byte[(_bits.Count + 7) / 8];
        for (int i = 0; i < _bits.Count; i++)
        {
            bytes[i / 8] |= (byte)((_bits[i] ? 1 : 0) << (i % 8));
        }

        return bytes;
    }
}
