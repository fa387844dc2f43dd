namespace Freehold.Tool.Deaths;

/// <summary>What a file of FREEHOLD_DEATHS says.</summary>
internal sealed class DeathProfile
{
    private Dictionary<(string, long), FieldRecord>? _declared;

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

    /// <summary>Of these, and of what was seen of fields, what can have spoken against a field.</summary>
    public required long Lost { get; init; }

    /// <summary>Sampled objects that are in no row: no look has learnt their types.</summary>
    public required long Untold { get; init; }

    /// <summary>Bytes that were allocated between two looks, at most.</summary>
    public required long LongestInterval { get; init; }

    /// <summary>That the looks took.</summary>
    public required long Nanoseconds { get; init; }

    public required IReadOnlyList<DeathRecord> Deaths { get; init; }

    public required IReadOnlyList<FieldRecord> Fields { get; init; }

    /// <summary>What was seen of a field, whatever types its class is made of: its declaration is one. Null: nothing.</summary>
    public FieldRecord? FieldOf(int type, long offset)
    {
        _declared ??= Fields.GroupBy(field => (Declaration(Types[field.Type]), field.Offset)).ToDictionary(rows => rows.Key, rows => new FieldRecord(rows.First().Type, rows.Key.Offset,
            DeathSite.Sum(rows, row => row.Objects), DeathSite.Sum(rows, row => row.Held), DeathSite.Sum(rows, row => row.Shared), DeathSite.Sum(rows, row => row.Died),
            DeathSite.Sum(rows, row => row.Survived), DeathSite.Sum(rows, row => row.Replaced), DeathSite.Sum(rows, row => row.Moved), DeathSite.Sum(rows, row => row.Emptied),
            DeathSite.Sum(rows, row => row.Followed), DeathSite.Sum(rows, row => row.Unfollowed), rows.Min(row => row.Number), rows.Max(row => row.References)));
        return _declared.GetValueOrDefault((Declaration(Types[type]), offset));
    }

    // Without the arguments of a generic type, but with what makes it an array: [] or [,].
    private static string Declaration(string name)
    {
        int tick = name.IndexOf('`', StringComparison.Ordinal), open = tick < 0 ? -1 : name.IndexOf('[', tick);
        return open < 0 || name.EndsWith("[]", StringComparison.Ordinal) || name.EndsWith(",]", StringComparison.Ordinal) ? name : name[..open];
    }

    public required IReadOnlyList<string> Types { get; init; }

    /// <summary>The innermost place first.</summary>
    public required IReadOnlyList<IReadOnlyList<int>> Stacks { get; init; }

    /// <summary>Places in code: a method, and a line or an offset.</summary>
    public required IReadOnlyList<string> Places { get; init; }
}
