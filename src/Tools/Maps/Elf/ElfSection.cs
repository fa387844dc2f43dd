namespace Freehold.Maps.Elf;

/// <summary>One section header: where a named part of the program lies in memory and in the file.</summary>
public sealed record ElfSection(string Name, uint Type, ulong Address, ulong Offset, ulong Size, uint Link)
{
    internal const uint TypeSymbolTable = 2;
    internal const uint TypeNoBits = 8;

    public ulong End => Address + Size;

    public bool Contains(ulong address) => address >= Address && address < End;
}
