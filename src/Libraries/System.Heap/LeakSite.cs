namespace System;

/// <summary>A place in the program that allocated objects which leaked.</summary>
/// <param name="Count">How many of them; estimated from samples, if there are any.</param>
/// <param name="Bytes">What they take; likewise.</param>
/// <param name="Samples">How many of the objects are known to be of this place. 0: all were counted (<c>FREEHOLD_DEBUG=stacks</c>).</param>
/// <param name="StackTrace">The frames of the allocation, the innermost first, a line each.</param>
public sealed record LeakSite(long Count, long Bytes, long Samples, string StackTrace);
