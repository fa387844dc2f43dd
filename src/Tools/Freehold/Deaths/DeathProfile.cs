namespace Freehold.Tool.Deaths;

/// <summary>What a file of FREEHOLD_DEATHS says.</summary>
internal sealed class DeathProfile
{
    public required long Process { get; init; }

    public required string Program { get; init; }

    /// <summary>False: the program has not come to its end, or has not written then.</summary>
    public required bool AtExit { get; init; }

    /// <summary>Bytes of all threads.</summary>
    public required long Allocated { get; init; }

    public required long Looks { get; init; }

    public required long Samples { get; init; }

    /// <summary>Sampled objects that nothing is known of: the tables were full.</summary>
    public required long WithoutRoom { get; init; }

    /// <summary>Bytes that were allocated between two looks, at most.</summary>
    public required long LongestInterval { get; init; }

    /// <summary>That the looks took.</summary>
    public required long Nanoseconds { get; init; }

    public required IReadOnlyList<DeathRecord> Deaths { get; init; }

    public required IReadOnlyList<FieldRecord> Fields { get; init; }

    public required IReadOnlyList<string> Types { get; init; }

    /// <summary>The innermost place first.</summary>
    public required IReadOnlyList<IReadOnlyList<int>> Stacks { get; init; }

    /// <summary>Places in code: a method, and a line or an offset.</summary>
    public required IReadOnlyList<string> Places { get; init; }
}
