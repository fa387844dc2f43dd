using System.Numerics;

namespace Freehold.Differential;

/// <summary>An order-sensitive 64-bit digest of everything a program saw: one line of output for a million values.</summary>
internal sealed class Checksum
{
    private ulong _state = 0x9E3779B97F4A7C15;

    public void Add(long value)
    {
        _state = BitOperations.RotateLeft((_state ^ (ulong)value) * 0xD6E8FEB86659FD93, 29) + 0x2545F4914F6CDD1D;
    }

    public void Add(double value) => Add(BitConverter.DoubleToInt64Bits(value));

    public void Add(string value)
    {
        Add(value.Length);
        foreach (char character in value)
            Add((long)character);
    }

    public void Add(ReadOnlySpan<byte> bytes)
    {
        Add(bytes.Length);
        foreach (byte value in bytes)
            Add((long)value);
    }

    public override string ToString() => _state.ToString("x16");
}
