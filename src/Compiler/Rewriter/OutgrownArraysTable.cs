using System.Collections.Generic;

namespace Freehold.Rewriter;

/// <summary>A type of the framework whose methods put another array where it had one.</summary>
/// <param name="Type">Full name, as Cecil writes it.</param>
/// <param name="Fields">The arrays; <c>a|b</c> as the one is called in one version and the other in another.</param>
/// <param name="Methods">The methods in which the old one is done with, in every overload that stores.</param>
/// <param name="Reason">Why only stacks can lead to the old one.</param>
public sealed record OutgrownArraysRow(string Type, string[] Fields, string[] Methods, string Reason);

/// <summary>
/// The reviewed table of arrays that collections outgrow. Not in it, with the reason: <c>MemoryStream</c>, <c>ArrayBufferWriter</c>, <c>StringBuilder</c> and
/// <c>ImmutableArray.Builder</c> (memories, which can be anywhere, lead to the old one), <c>ConcurrentDictionary</c> and <c>ConcurrentQueue</c> (enumerators keep old tables and segments), the older <c>Queue</c> (its enumerator
/// gives the old array out as <c>Current</c> before the first element). A type, field or method that a version does not have fails the rewrite.
/// </summary>
public static class OutgrownArraysTable
{
    private const string Spans = "never given out but as a span or a reference, which only stacks have; an enumerator has the collection";

    /// <summary>All rows.</summary>
    public static IReadOnlyList<OutgrownArraysRow> Rows { get; } =
    [
        new("System.Collections.Generic.List`1", ["_items"], ["set_Capacity", "GrowForInsertion"], Spans),
        new("System.Collections.Generic.Dictionary`2", ["_buckets", "_entries"], ["Resize", "Initialize"], Spans),
        new("System.Collections.Generic.HashSet`1", ["_buckets", "_entries"], ["Resize", "Initialize"], Spans),
        new("System.Collections.Generic.Queue`1", ["_array"], ["SetCapacity"], Spans),
        new("System.Collections.Generic.Stack`1", ["_array"], ["Grow", "TrimExcess"], Spans),
        new("System.Collections.Generic.PriorityQueue`2", ["_nodes"], ["Grow", "TrimExcess"], Spans),
        new("System.Collections.Generic.SortedList`2", ["keys", "values"], ["set_Capacity"], Spans),
        new("System.Collections.Generic.OrderedDictionary`2", ["_buckets", "_entries"], ["Resize"], Spans),
        new("System.Collections.Generic.Deque`1", ["_array"], ["Grow"], Spans),
        new("System.Collections.ArrayList", ["_items"], ["set_Capacity"], Spans),
        new("System.Collections.Hashtable", ["_buckets"], ["rehash"], "never given out; threads that read without a lock have it on their stacks"),
        new("System.Collections.Stack", ["_array"], ["Push"], Spans),
        new("System.Collections.SortedList", ["keys", "values"], ["set_Capacity"], Spans),
        new("System.Collections.BitArray", ["m_array|_array"], ["set_Length"], Spans),
    ];
}
