namespace Freehold.Maps.Elf;

/// <summary>One FDE of .eh_frame: a stretch of code and the address of its language-specific data (0 when it has none).</summary>
public readonly record struct FrameEntry(ulong Start, ulong End, ulong Lsda);
