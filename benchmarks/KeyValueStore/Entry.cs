namespace Freehold.Benchmarks.KeyValueStore;

/// <summary>Where the value of a key lies. A put makes a new one: readers never see half of a change.</summary>
internal sealed class Entry(byte[] key, uint hash, long offset, int length, Entry? next)
{
    public readonly byte[] Key = key;
    public readonly uint Hash = hash;
    public readonly long Offset = offset;
    public readonly int Length = length;
    public Entry? Next = next;
}
