using System;

namespace Freehold.Tasks;

/// <summary>The build cannot go on. The message holds the cause and the cure.</summary>
/// <param name="id">One of the ids in docs/errors.md.</param>
/// <param name="message">Cause, then cure.</param>
internal sealed class FreeholdException(string id, string message) : Exception(message)
{
    public string Id { get; } = id;
}
