namespace Freehold.Benchmarks.CompilerLike;

/// <summary>
/// Parses C# by recursive descent. What it does not understand it passes over, a token at a time, and counts: it is a load for a heap, not a compiler to rely on.
/// This part: the tokens, and what all rules share.
/// </summary>
internal sealed partial class Parser(List<Token> tokens, Names names)
{
    private int _at;

    /// <summary>Tokens that no rule took.</summary>
    public int Skipped { get; private set; }

    private Token Current => tokens[_at];

    private Token Peek(int offset) => tokens[Math.Min(_at + offset, tokens.Count - 1)];

    private bool At(string text) => Current.Is(text);

    private bool AtAny(params ReadOnlySpan<string> texts)
    {
        foreach (var text in texts)
        {
            if (At(text))
            {
                return true;
            }
        }

        return false;
    }

    private Token Take()
    {
        var token = Current;
        _at = Math.Min(_at + 1, tokens.Count - 1);
        return token;
    }

    private bool Accept(string text)
    {
        if (!At(text))
        {
            return false;
        }

        Take();
        return true;
    }

    /// <summary>What is missing is taken as there: the rules around go on.</summary>
    private void Expect(string text) => Skipped += Accept(text) ? 0 : 1;

    private Token ExpectName()
    {
        if (Current.Kind == TokenKind.Name)
        {
            return Take();
        }

        Skipped++;
        return Current;
    }

    /// <summary>Parses up to a closing token, with a separator between the parts, or none.</summary>
    private Node[] Until(string end, string? separator, Func<Node> part)
    {
        var parts = new List<Node>();
        while (!At(end) && Current.Kind != TokenKind.End)
        {
            var before = _at;
            parts.Add(part());
            if (separator is not null && !Accept(separator) && !At(end))
            {
                Skipped++;
            }

            if (_at == before)
            {
                parts.Add(Skip());
            }
        }

        Expect(end);
        return [.. parts];
    }

    private Branch Skip()
    {
        Skipped++;
        return new Branch(Operation.Skipped, Take(), Node.None);
    }

    /// <summary>Tries a rule that may not fit; then everything is as before.</summary>
    private T? Try<T>(Func<T?> rule)
        where T : class
    {
        var (at, skipped) = (_at, Skipped);
        if (rule() is { } parsed)
        {
            return parsed;
        }

        (_at, Skipped) = (at, skipped);
        return null;
    }
}
