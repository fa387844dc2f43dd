namespace Freehold.Benchmarks.CompilerLike;

/// <summary>The names of a compilation: each is one string.</summary>
internal sealed class Names
{
    private readonly HashSet<string>.AlternateLookup<ReadOnlySpan<char>> _names = new HashSet<string>(StringComparer.Ordinal).GetAlternateLookup<ReadOnlySpan<char>>();

    public string Of(ReadOnlySpan<char> text)
    {
        if (!_names.TryGetValue(text, out var name))
        {
            name = text.ToString();
            _names.Set.Add(name);
        }

        return name;
    }
}
