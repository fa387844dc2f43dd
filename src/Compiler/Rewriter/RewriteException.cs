using System;

namespace Freehold.Rewriter;

/// <summary>The input is not what a pass was written for. Nothing is written; the message names assembly, member and expectation.</summary>
public sealed class RewriteException : Exception
{
    /// <summary>An error that is not about one member.</summary>
    public RewriteException(string message)
        : base(message)
    {
    }

    /// <summary>The error of a pass about one member.</summary>
    public RewriteException(string assembly, string member, string expected)
        : base($"{assembly}: {member}: expected {expected}. The patch set belongs to another version of the framework.")
    {
    }
}
