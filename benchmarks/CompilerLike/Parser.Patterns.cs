namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Patterns.</summary>
internal sealed partial class Parser
{
    private Node Pattern()
    {
        var left = Conjunction();
        while (At("or"))
        {
            left = new Branch(Operation.Binary, Take(), [left, Conjunction()]);
        }

        return left;
    }

    private Node Conjunction()
    {
        var left = Negation();
        while (At("and"))
        {
            left = new Branch(Operation.Binary, Take(), [left, Negation()]);
        }

        return left;
    }

    private Node Negation() => At("not") ? new Branch(Operation.Unary, Take(), [Negation()]) : PrimaryPattern();

    private Node PrimaryPattern()
    {
        if (AtAny("<", ">", "<=", ">="))
        {
            return new Branch(Operation.Unary, Take(), [Binary(s_shifts)]);
        }

        if (At(".."))
        {
            var slice = Take();
            return new Branch(Operation.Pattern, slice, AtAny(",", "]") ? Node.None : [Pattern()]);
        }

        if (AtAny("(", "{", "["))
        {
            return Parts(null);
        }

        if (At("var") && Peek(1).Is("("))
        {
            Take();
            var token = Take();
            return new Branch(Operation.Pattern, token, Until(")", ",", () => new Declaration(SymbolKind.Local, null, ExpectName(), null)));
        }

        if (!AtIdentifier)
        {
            return Binary(s_shifts);
        }

        var (at, skipped) = (_at, Skipped);
        if (TryType(allowNullable: false) is { } type)
        {
            if (AtAny("{", "("))
            {
                return Parts(type);
            }

            if (AtIdentifier && !AtAny("and", "or", "when"))
            {
                return new Branch(Operation.Pattern, null, [new Declaration(SymbolKind.Local, type, Take(), null)]);
            }

            if (!AtAny("+", "-", "*", "<<", "|", "["))
            {
                return new Branch(Operation.Pattern, null, [type]);
            }
        }

        (_at, Skipped) = (at, skipped);
        return Binary(s_shifts);
    }

    /// <summary>(…) and {…} or […], then perhaps a name for the whole.</summary>
    private Node Parts(Node? type)
    {
        var token = Current;
        List<Node> parts = type is null ? [] : [type];
        while (AtAny("(", "{", "["))
        {
            var end = Take().Text switch { "(" => ")", "{" => "}", _ => "]" };
            parts.AddRange(Until(end, ",", PartPattern));
        }

        if (AtIdentifier && !AtAny("and", "or", "when"))
        {
            parts.Add(new Declaration(SymbolKind.Local, null, Take(), null));
        }

        return new Branch(Operation.Pattern, token, [.. parts]);
    }

    private Node PartPattern()
    {
        // Name: pattern, or Name.Name: pattern.
        var i = 0;
        while (Peek(i).Kind == TokenKind.Name && Peek(i + 1).Is("."))
        {
            i += 2;
        }

        if (Peek(i).Kind == TokenKind.Name && Peek(i + 1).Is(":"))
        {
            _at += i;
            var name = Take();
            Take();
            return new Branch(Operation.Member, name, [Pattern()]);
        }

        return Pattern();
    }
}
