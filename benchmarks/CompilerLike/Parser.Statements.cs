namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Statements.</summary>
internal sealed partial class Parser
{
    private Node Block()
    {
        var token = Current;
        Expect("{");
        return new Branch(Operation.Block, token, Until("}", null, Statement), opensScope: true);
    }

    private Node Statement()
    {
        switch (Current.Text)
        {
            case "{":
                return Block();
            case ";":
                return new Branch(Operation.Block, Take(), Node.None);
            case "if":
                return If();
            case "while" or "lock" or "fixed" or "foreach":
            case "using" when Peek(1).Is("("):
                return Headed(Take());
            case "await" when Peek(1).Text is "foreach" or "using":
                Take();
                return Statement();
            case "for":
                return For();
            case "do":
                return Do();
            case "switch":
                return Switch();
            case "try":
                return TryStatement();
            case "return" or "break" or "continue" or "throw" or "goto":
                return Jump();
            case "yield" when Peek(1).Text is "return" or "break":
                Take();
                return Jump();
            case "checked" or "unchecked" or "unsafe" when Peek(1).Is("{"):
                return new Branch(Operation.Block, Take(), [Block()]);
            default:
                break;
        }

        if (Current.Kind == TokenKind.Name && Peek(1).Is(":") && !At("default") && !At("case"))
        {
            Take();
            return new Branch(Operation.Block, Take(), Node.None);
        }

        Accept("using");
        return Local() ?? Evaluate();
    }

    private Node Evaluate()
    {
        var value = Expression();
        Expect(";");
        return new Branch(Operation.Evaluate, null, [value]);
    }

    /// <summary>A local variable or a local function; null where it is an expression.</summary>
    private Node? Local() => Try(() =>
    {
        while (At("["))
        {
            Attributes();
        }

        while (AtAny("static", "unsafe", "extern", "const", "scoped", "ref", "readonly") || (At("async") && Peek(1).Kind == TokenKind.Name))
        {
            Take();
        }

        if (TryType(allowNullable: true) is not { } type || !AtIdentifier || Peek(1).Text is not ("=" or ";" or "," or "(" or "<" or "[" or "in"))
        {
            return null;
        }

        var name = Take();
        if (AtAny("(", "<"))
        {
            return (Node)new Branch(Operation.List, null, [new Declaration(SymbolKind.Local, null, name, null), FunctionFrom([], type, name)]);
        }

        var locals = Declarators(type, name);
        Expect(";");
        return locals;
    });

    private Branch Declarators(Node type, Token name)
    {
        var locals = new List<Node>();
        while (true)
        {
            locals.Add(new Declaration(SymbolKind.Local, type, name, Accept("=") ? Expression() : null));
            if (!Accept(","))
            {
                return new Branch(Operation.List, null, [.. locals]);
            }

            name = ExpectName();
        }
    }

    /// <summary>What stands in the parentheses of using, fixed, foreach and for: variables, or an expression.</summary>
    private Node VariablesOrExpression() =>
        Try(() =>
        {
            while (AtAny("ref", "readonly", "scoped"))
            {
                Take();
            }

            return TryType(allowNullable: true) is { } type && AtIdentifier && Peek(1).Text is "=" or "in" ? Declarators(type, Take()) : null;
        })
        ?? Expression();

    private Node If()
    {
        var token = Take();
        Expect("(");
        var condition = Expression();
        Expect(")");
        var then = Statement();
        return new Branch(Operation.If, token, Accept("else") ? [condition, then, Statement()] : [condition, then]);
    }

    private Node Headed(Token token)
    {
        Expect("(");
        var parts = new List<Node> { VariablesOrExpression() };
        if (Accept("in"))
        {
            parts.Add(Expression());
        }

        Expect(")");
        parts.Add(Statement());
        return new Branch(Operation.Loop, token, [.. parts], opensScope: true);
    }

    private Node For()
    {
        var token = Take();
        Expect("(");
        var parts = new List<Node>();
        if (!At(";"))
        {
            parts.Add(VariablesOrExpression());
            while (Accept(","))
            {
                parts.Add(Expression());
            }
        }

        Expect(";");
        if (!At(";"))
        {
            parts.Add(Expression());
        }

        Expect(";");
        parts.AddRange(Until(")", ",", Expression));
        parts.Add(Statement());
        return new Branch(Operation.Loop, token, [.. parts], opensScope: true);
    }

    private Node Do()
    {
        var token = Take();
        var body = Statement();
        Expect("while");
        Expect("(");
        var condition = Expression();
        Expect(")");
        Expect(";");
        return new Branch(Operation.Loop, token, [body, condition]);
    }

    private Node Jump()
    {
        var token = Take();
        if (token.Is("goto"))
        {
            _ = Accept("case") || Accept("default");
        }

        if (Accept(";"))
        {
            return new Branch(Operation.Jump, token, Node.None);
        }

        var value = Expression();
        Expect(";");
        return new Branch(Operation.Jump, token, [value]);
    }

    private Node Switch()
    {
        var token = Take();
        Expect("(");
        var subject = new List<Node>(Arguments(")"));
        Expect("{");
        subject.AddRange(Until("}", null, () =>
        {
            var arm = Current;
            var parts = new List<Node>();
            if (Accept("case"))
            {
                parts.Add(Pattern());
                if (Accept("when"))
                {
                    parts.Add(Conditional());
                }
            }
            else
            {
                Expect("default");
            }

            Expect(":");
            while (!AtAny("case", "}") && !(At("default") && Peek(1).Is(":")) && Current.Kind != TokenKind.End)
            {
                var before = _at;
                parts.Add(Statement());
                if (_at == before)
                {
                    parts.Add(Skip());
                }
            }

            return new Branch(Operation.Arm, arm, [.. parts], opensScope: true);
        }));
        return new Branch(Operation.Switch, token, [.. subject], opensScope: true);
    }

    private Node TryStatement()
    {
        var token = Take();
        var parts = new List<Node> { Block() };
        while (AtAny("catch", "finally"))
        {
            var clause = new List<Node>();
            var which = Take();
            if (Accept("("))
            {
                var type = Type();
                clause.Add(AtIdentifier ? new Declaration(SymbolKind.Local, type, Take(), null) : type);
                Expect(")");
            }

            if (Accept("when"))
            {
                Expect("(");
                clause.Add(Expression());
                Expect(")");
            }

            clause.Add(Block());
            parts.Add(new Branch(Operation.Try, which, [.. clause], opensScope: true));
        }

        return new Branch(Operation.Try, token, [.. parts]);
    }
}
