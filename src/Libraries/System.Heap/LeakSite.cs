namespace System;

/// <summary>A place in the program that allocated objects which leaked.</summary>
/// <param name="Count">How many of them; estimated, unless <paramref name="IsExact"/>.</param>
/// <param name="Bytes">What they take; estimated, unless <paramref name="IsExact"/>.</param>
/// <param name="IsExact">Whether all objects of this place were counted (<c>FREEHOLD_DEBUG=stacks</c>), instead of a sample.</param>
/// <param name="StackTrace">The frames of the allocation, the innermost first, a line each.</param>
public sealed record LeakSite(long Count, long Bytes, bool IsExact, string StackTrace);
