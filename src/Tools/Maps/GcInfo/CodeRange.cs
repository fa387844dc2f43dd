namespace Freehold.Maps.GcInfo;

/// <summary>Code offsets [Start, End) from the start of a method.</summary>
public readonly record struct CodeRange(int Start, int End)
{
    public int Length => End - Start;

    public bool Contains(int offset) => offset >= Start && offset < End;
}
