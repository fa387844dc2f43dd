namespace Freehold.Tool.Deaths;

/// <summary>Sampled objects of one place of allocation that ended alike: a row of heap/death_table.h. Types, stacks and places are numbers in the profile's lists; -1: none.</summary>
internal sealed record DeathRecord(
    int Type, int Stack, DeathKind Kind, int Holder, long Offset, int Method, bool FrameGone, int? AliveAfter, long Samples, long Bytes, long AgeSeen, long AgeDead);
