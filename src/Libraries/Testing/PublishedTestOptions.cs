namespace Freehold.Testing;

/// <summary>How <see cref="PublishedTest"/> runs a test in the child.</summary>
public sealed class PublishedTestOptions
{
    /// <summary>
    /// Debug mode (<c>FREEHOLD_DEBUG=stacks</c>): each use of a deleted object throws, and the places of allocations and deletions are known. True unless it is changed; false for the heap as it is in production.
    /// </summary>
    public bool Debug { get; init; } = true;

    /// <summary>Environment variables of the child, <c>FREEHOLD_…</c> among them. They win over what <see cref="Debug"/> sets. Of the test's own environment no variable <c>FREEHOLD_…</c> reaches the child.</summary>
    public IReadOnlyDictionary<string, string> Environment { get; init; } = new Dictionary<string, string>();

    /// <summary>After this time the child is ended and the test has failed; a twentieth of it behind the end of the test, if a thread does not end. Ten minutes unless it is changed.</summary>
    public TimeSpan Timeout { get; init; } = TimeSpan.FromMinutes(10);
}
