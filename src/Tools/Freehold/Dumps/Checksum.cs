namespace Freehold.Tool.Dumps;

/// <summary>CRC-32, as zip has it.</summary>
internal static class Checksum
{
    private static readonly uint[] s_table = MakeTable();

    public static uint Of(ReadOnlySpan<byte> bytes)
    {
        uint sum = uint.MaxValue;
        foreach (byte next in bytes)
        {
            sum = (sum >> 8) ^ s_table[(sum ^ next) & 0xff];
        }

        return ~sum;
    }

    private static uint[] MakeTable()
    {
        uint[] table = new uint[256];
        for (uint i = 0; i < 256; i++)
        {
            uint sum = i;
            for (int bit = 0; bit < 8; bit++)
            {
                sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0xedb88320 : 0);
            }

            table[i] = sum;
        }

        return table;
    }
}
