namespace Freehold.Tool.Deaths;

/// <summary>Sampled objects of one type that were allocated at one place.</summary>
internal sealed class DeathSite
{
    private readonly List<DeathRecord> _records;

    private DeathSite(DeathProfile profile, IEnumerable<DeathRecord> records)
    {
        _records = [.. records];
        Type = profile.Types[_records[0].Type];
        Stack = [.. profile.Stacks[_records[0].Stack].Select(place => profile.Places[place])];
        Advice = DeathAdvice.Of(profile, this);
    }

    public string Type { get; }

    /// <summary>The innermost place first; empty where it was not recorded.</summary>
    public IReadOnlyList<string> Stack { get; }

    public IReadOnlyList<DeathRecord> Records => _records;

    /// <summary>Of what has died and nobody deleted: what an object stands for.</summary>
    public long Bytes => Sum(_records.Where(IsForgotten), record => record.Bytes);

    public long Dead => Sum(_records.Where(IsForgotten), record => record.Samples);

    public long Deleted => Of(DeathKind.Deleted);

    public long Living => Of(DeathKind.Lives);

    /// <summary>Of those that died, what a look found alive.</summary>
    public long Seen => Dead - Of(DeathKind.Unseen);

    /// <summary>Bytes that all threads allocated, on average, from the birth of one that died until it was last seen alive, of those that were (null: none was), and until it was found dead, of all.</summary>
    public (long? Least, long Most) Age => (Seen <= 0 ? null : Sum(_records.Where(record => IsForgotten(record) && record.Kind != DeathKind.Unseen), record => record.AgeSeen) / Seen,
        Dead == 0 ? 0 : Sum(_records.Where(IsForgotten), record => record.AgeDead) / Dead);

    public DeathAdvice Advice { get; }

    public long Of(DeathKind kind) => Sum(_records.Where(record => record.Kind == kind), record => record.Samples);

    /// <summary>Those with the most bytes first.</summary>
    public static IReadOnlyList<DeathSite> All(DeathProfile profile) =>
        [.. profile.Deaths.GroupBy(record => (record.Type, record.Stack)).Select(records => new DeathSite(profile, records)).OrderByDescending(site => site.Bytes).ThenBy(site => site.Type, StringComparer.Ordinal)];

    /// <summary>No larger than that some of them can be added: a file may say anything.</summary>
    public static long Sum<T>(IEnumerable<T> rows, Func<T, long> number)
    {
        Int128 sum = 0;
        foreach (T row in rows)
        {
            sum += number(row);
        }

        return (long)Int128.Min(sum, long.MaxValue / 16);
    }

    private static bool IsForgotten(DeathRecord record) => record.Kind is not (DeathKind.Lives or DeathKind.Deleted);
}
