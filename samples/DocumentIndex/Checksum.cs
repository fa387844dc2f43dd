namespace DocumentIndex;

/// <summary>FNV-1a over everything that a phase produced.</summary>
internal struct Checksum
{
    private ulong _value;

    public readonly ulong Value => _value ^ 14695981039346656037;

    public void Add(long value) => _value = ((_value ^ (ulong)value) * 1099511628211) ^ (_value >> 47);

    public void Add(double value) => Add(BitConverter.DoubleToInt64Bits(value));
}
