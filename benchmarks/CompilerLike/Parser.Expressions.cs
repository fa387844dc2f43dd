namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Expressions, by precedence.</summary>
internal sealed partial class Parser
{
    private static readonly string[][] s_levels =
    [
        ["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!="], ["<", ">", "<=", ">=", "is", "as"], ["<<", ">>"], ["+", "-"], ["*", "/", "%"],
    ];

    private static readonly int s_shifts = Array.FindIndex(s_levels, level => level.Contains("<<"));

    private Node Expression()
    {
        if (AtLambda())
        {
            return Lambda();
        }

        if (At("ref") || (At("throw") && !Peek(1).Is(";")))
        {
            return new Branch(Operation.Jump, Take(), [Expression()]);
        }

        var left = Conditional();
        if (AtAny("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", "??=") || (At(">") && Peek(1).Is(">=") && Peek(1).IsGlued))
        {
            var token = Take();
            if (token.Is(">"))
            {
                Take();
            }

            return new Branch(Operation.Assign, token, [left, Expression()]);
        }

        return left;
    }

    private bool AtLambda()
    {
        var i = 0;
        while (Peek(i).Text is "static" or "async")
        {
            i++;
        }

        if (Peek(i).Is("delegate") && Peek(i + 1).Text is "{" or "(")
        {
            return true;
        }

        if (Peek(i).Kind == TokenKind.Name)
        {
            return Peek(i + 1).Is("=>");
        }

        if (!Peek(i).Is("("))
        {
            return false;
        }

        for (var depth = 0; Peek(i).Kind != TokenKind.End; i++)
        {
            depth += Peek(i).Is("(") ? 1 : Peek(i).Is(")") ? -1 : 0;
            if (depth == 0)
            {
                return Peek(i + 1).Is("=>");
            }
        }

        return false;
    }

    private Node Lambda()
    {
        while (AtAny("static", "async", "delegate"))
        {
            Take();
        }

        var token = Current;
        var parts = new List<Node>();
        if (Accept("("))
        {
            parts.AddRange(Until(")", ",", LambdaParameter));
        }
        else if (!At("{"))
        {
            parts.Add(new Declaration(SymbolKind.Parameter, null, ExpectName(), null));
        }

        Accept("=>");
        parts.Add(At("{") ? Block() : Expression());
        return new Branch(Operation.Lambda, token, [.. parts], opensScope: true);
    }

    private Node LambdaParameter()
    {
        while (AtAny("ref", "out", "in", "params", "scoped", "readonly"))
        {
            Take();
        }

        var type = Peek(1).Text is "," or ")" ? null : Type();
        return new Declaration(SymbolKind.Parameter, type, ExpectName(), Accept("=") ? Expression() : null);
    }

    private Node Conditional()
    {
        var condition = Coalesce();
        if (!At("?"))
        {
            return condition;
        }

        var token = Take();
        var then = Expression();
        Expect(":");
        return new Branch(Operation.Conditional, token, [condition, then, Expression()]);
    }

    private Node Coalesce()
    {
        var left = Binary(0);
        if (!At("??"))
        {
            return left;
        }

        var token = Take();
        return new Branch(Operation.Binary, token, [left, At("throw") ? Expression() : Coalesce()]);
    }

    private Node Binary(int level)
    {
        if (level == s_levels.Length)
        {
            return Range();
        }

        var left = Binary(level + 1);
        while (AtOperator(level))
        {
            var token = Take();
            if (token.Is(">") && level == s_shifts)
            {
                Take();
                Accept(">");
            }

            left = token.Text switch
            {
                "is" => new Branch(Operation.Binary, token, [left, Pattern()]),
                "as" => new Branch(Operation.Binary, token, [left, TryType(allowNullable: false) ?? Skip()]),
                _ => new Branch(Operation.Binary, token, [left, Binary(level + 1)]),
            };
        }

        return left;
    }

    private bool AtOperator(int level)
    {
        var isShift = At(">") && Peek(1).Is(">") && Peek(1).IsGlued;
        return level == s_shifts ? isShift || At("<<") : !isShift && AtAny(s_levels[level]) && !(At(">") && Peek(1).Is(">=") && Peek(1).IsGlued);
    }

    private Node Range()
    {
        var left = At("..") ? null : Unary();
        if (!At(".."))
        {
            return SwitchOrWith(left!);
        }

        var token = Take();
        List<Node> parts = left is null ? [] : [left];
        if (!AtAny(")", "]", ",", ";", "}"))
        {
            parts.Add(Unary());
        }

        return new Branch(Operation.Binary, token, [.. parts]);
    }

    private Node SwitchOrWith(Node subject)
    {
        while (At("switch") && Peek(1).Is("{"))
        {
            var token = Take();
            Take();
            var arms = Until("}", ",", () =>
            {
                var parts = new List<Node> { Pattern() };
                if (Accept("when"))
                {
                    parts.Add(Conditional());
                }

                Expect("=>");
                parts.Add(Expression());
                return new Branch(Operation.Arm, null, [.. parts], opensScope: true);
            });
            subject = new Branch(Operation.Switch, token, [subject, .. arms], opensScope: true);
        }

        while (At("with") && Peek(1).Is("{"))
        {
            var token = Take();
            subject = new Branch(Operation.Create, token, [subject, Initializer()]);
        }

        return subject;
    }

    private Node Unary()
    {
        if (AtAny("+", "-", "!", "~", "++", "--", "&", "*", "^") || (At("await") && Peek(1).Kind is TokenKind.Name))
        {
            return new Branch(Operation.Unary, Take(), [Unary()]);
        }

        return (At("(") ? Cast() : null) ?? Postfix(Primary());
    }

    private Node? Cast() => Try(() =>
    {
        var token = Take();
        if (TryType(allowNullable: true) is not { } type || !Accept(")"))
        {
            return null;
        }

        var predefined = s_predefined.Contains(Peek(-2).Text);
        var begins = Current.Kind is TokenKind.Number or TokenKind.Text or TokenKind.InterpolatedText || At("(") || At("~") || At("!")
            || (Current.Kind == TokenKind.Name && !AtAny("is", "as", "switch", "with", "when", "and", "or", "in", "on", "equals"));
        return begins || (predefined && AtAny("-", "+", "&", "*", "[")) ? new Branch(Operation.Convert, token, [type, Unary()]) : null;
    });

    private Node[] Arguments(string end) => Until(end, ",", Argument);

    private Node Argument()
    {
        if (Current.Kind == TokenKind.Name && Peek(1).Is(":"))
        {
            Take();
            Take();
        }

        while (AtAny("ref", "out", "in"))
        {
            Take();
        }

        return DeclaredInExpression() ?? Expression();
    }

    /// <summary>out var x, (int a, string b).</summary>
    private Node? DeclaredInExpression() =>
        Try(() => TryType(allowNullable: true) is { } type && AtIdentifier && Peek(1).Text is "," or ")" ? new Declaration(SymbolKind.Local, type, Take(), null) : null);
}
