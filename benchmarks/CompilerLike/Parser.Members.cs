namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Namespaces, types and their members.</summary>
internal sealed partial class Parser
{
    private static readonly HashSet<string> s_modifiers =
    [
        "public", "private", "protected", "internal", "static", "abstract", "sealed", "virtual", "override", "readonly", "const", "volatile", "unsafe", "extern", "async", "partial", "new", "required",
        "fixed", "file", "ref",
    ];

    public Node Unit()
    {
        var parts = new List<Node>();
        while (Current.Kind != TokenKind.End)
        {
            parts.Add(Member());
        }

        return new Branch(Operation.Unit, null, [.. parts]);
    }

    private Node Member()
    {
        var before = _at;
        var head = new List<Node>();
        while (At("["))
        {
            head.AddRange(Attributes());
        }

        while (s_modifiers.Contains(Current.Text) && (Current.Text is not "partial" and not "required" and not "file" and not "async" || Peek(1).Kind == TokenKind.Name))
        {
            Take();
        }

        if (At("global") && Peek(1).Is("using"))
        {
            Take();
        }

        var member = At("using") ? Using() : At("namespace") ? Namespace() : At("enum") ? Enumeration(head) : IsType() ? TypeDeclaration(head) : At("delegate") && !Peek(1).Is("*") ? Delegate(head) : Declared(head);
        if (_at == before)
        {
            return Skip();
        }

        return member;
    }

    private bool IsType() => AtAny("class", "struct", "interface") || (At("record") && Peek(1).Kind == TokenKind.Name && (Peek(1).Is("struct") || Peek(1).Is("class") || Peek(2).Text is "(" or "{" or "<" or ":" or ";"));

    private Node Using()
    {
        var token = Take();
        _ = Accept("static") || Accept("unsafe");
        if (Peek(1).Is("="))
        {
            Take();
            Take();
        }

        var name = Type();
        Expect(";");
        return new Branch(Operation.Using, token, [name]);
    }

    private Node Namespace()
    {
        var token = Take();
        var name = Type();
        if (Accept(";"))
        {
            return new Branch(Operation.Namespace, token, [name]);
        }

        Expect("{");
        return new Branch(Operation.Namespace, token, [name, .. Until("}", null, Member)]);
    }

    private Node Enumeration(List<Node> head)
    {
        Take();
        var name = ExpectName();
        if (Accept(":"))
        {
            head.Add(Type());
        }

        Expect("{");
        var members = Until("}", ",", () =>
        {
            while (At("["))
            {
                Attributes();
            }

            return new Declaration(SymbolKind.Member, null, ExpectName(), Accept("=") ? Expression() : null);
        });
        Accept(";");
        return new TypeDeclaration(name, [.. head], Node.None, members);
    }

    private Node TypeDeclaration(List<Node> head)
    {
        if (Take().Is("record"))
        {
            _ = Accept("struct") || Accept("class");
        }

        var name = ExpectName();
        if (Accept("<"))
        {
            head.AddRange(TypeParameters());
        }

        var parameters = Accept("(") ? Parameters(")") : Node.None;
        if (Accept(":"))
        {
            do
            {
                head.Add(Type());
                if (Accept("("))
                {
                    head.AddRange(Arguments(")"));
                }
            }
            while (Accept(","));
        }

        Constraints(head);
        var members = Accept("{") ? Until("}", null, Member) : Node.None;
        Accept(";");
        return new TypeDeclaration(name, [.. head], parameters, members);
    }

    private Node Delegate(List<Node> head)
    {
        Take();
        var type = Type();
        var name = ExpectName();
        if (Accept("<"))
        {
            head.AddRange(TypeParameters());
        }

        Expect("(");
        var parameters = Parameters(")");
        Constraints(head);
        Expect(";");
        return new Function(type, name, [.. head], parameters, null);
    }

    /// <summary>A field, a property, an event, a method, an operator, a constructor or a finalizer.</summary>
    private Node Declared(List<Node> head)
    {
        Accept("event");
        Accept("~");
        if (AtIdentifier && Peek(1).Is("("))
        {
            return FunctionFrom(head, null, Take());
        }

        if (Accept("implicit") || Accept("explicit"))
        {
            return Operator(head, null);
        }

        if (TryType(allowNullable: true) is not { } type)
        {
            return Skip();
        }

        if (At("operator"))
        {
            return Operator(head, type);
        }

        // An explicit implementation: the interface before the name.
        while (Current.Kind == TokenKind.Name && Peek(1).Text is "." or "<" && Try(() =>
        {
            Take();
            return (!At("<") || TypeArguments() is not null) && Accept(".") ? names : null;
        }) is not null)
        {
        }

        if (At("operator"))
        {
            return Operator(head, type);
        }

        if (Current.Kind != TokenKind.Name)
        {
            return Skip();
        }

        var name = Take();
        if (name.Is("this") && Accept("["))
        {
            return Property(head, type, name, Parameters("]"));
        }

        if (AtAny("(", "<"))
        {
            return FunctionFrom(head, type, name);
        }

        return AtAny("{", "=>") ? Property(head, type, name, Node.None) : Fields(head, type, name);
    }

    private Node Operator(List<Node> head, Node? type)
    {
        var token = Take();
        Accept("checked");
        type ??= Type();
        while (!At("(") && Current.Kind != TokenKind.End)
        {
            token = Take();
        }

        return FunctionFrom(head, type, token);
    }

    private Node FunctionFrom(List<Node> head, Node? type, Token name)
    {
        if (Accept("<"))
        {
            head.AddRange(TypeParameters());
        }

        Expect("(");
        var parameters = Parameters(")");
        if (Accept(":"))
        {
            // this(…) or base(…)
            head.Add(new Branch(Operation.Invoke, Take(), Accept("(") ? Arguments(")") : Node.None));
        }

        Constraints(head);
        return new Function(type, name, [.. head], parameters, Body());
    }

    private Node? Body()
    {
        if (At("{"))
        {
            return Block();
        }

        if (Accept("=>"))
        {
            var body = Expression();
            Expect(";");
            return body;
        }

        Expect(";");
        return null;
    }

    private Node Property(List<Node> head, Node type, Token name, Node[] parameters)
    {
        Node? body;
        if (Accept("{"))
        {
            var accessors = Until("}", null, () =>
            {
                while (At("["))
                {
                    Attributes();
                }

                while (s_modifiers.Contains(Current.Text))
                {
                    Take();
                }

                var kind = ExpectName();
                return new Branch(Operation.Accessor, kind, Body() is { } code ? [code] : Node.None, opensScope: true);
            });
            body = new Branch(Operation.List, null, Accept("=") ? [.. accessors, Expression()] : accessors);
            Accept(";");
        }
        else
        {
            body = Body();
        }

        return new Function(type, name, [.. head], parameters, body);
    }

    private Node Fields(List<Node> head, Node type, Token name)
    {
        var fields = new List<Node>(head);
        while (true)
        {
            if (Accept("["))
            {
                // fixed int Words[4]
                Expression();
                Expect("]");
            }

            fields.Add(new Declaration(SymbolKind.Member, type, name, Accept("=") ? Expression() : null));
            if (!Accept(","))
            {
                Expect(";");
                return new Branch(Operation.List, null, [.. fields]);
            }

            name = ExpectName();
        }
    }

    private Node[] TypeParameters() => Until(">", ",", () =>
    {
        while (At("["))
        {
            Attributes();
        }

        _ = Accept("in") || Accept("out");
        return new Declaration(SymbolKind.Local, null, ExpectName(), null);
    });

    private void Constraints(List<Node> head)
    {
        while (At("where") && Peek(2).Is(":"))
        {
            var token = Take();
            var parts = new List<Node> { new NameNode(Take(), Node.None) };
            Take();
            do
            {
                if (AtAny("class", "struct", "new", "default") || (At("allows") && Peek(1).Is("ref")))
                {
                    while (!AtAny(",", "{", ";", "where", "=>") && Current.Kind != TokenKind.End)
                    {
                        Take();
                    }
                }
                else
                {
                    parts.Add(Type());
                }
            }
            while (Accept(","));
            head.Add(new Branch(Operation.Constraint, token, [.. parts]));
        }
    }

    private Node[] Parameters(string end) => Until(end, ",", () =>
    {
        while (At("["))
        {
            Attributes();
        }

        while (AtAny("ref", "out", "in", "params", "this", "readonly", "scoped"))
        {
            Take();
        }

        var type = Type();
        return new Declaration(SymbolKind.Parameter, type, ExpectName(), Accept("=") ? Expression() : null);
    });

    private Node[] Attributes()
    {
        Expect("[");
        if (Peek(1).Is(":"))
        {
            Take();
            Take();
        }

        return Until("]", ",", () =>
        {
            var name = Type();
            return new Branch(Operation.Attribute, null, Accept("(") ? [name, .. Arguments(")")] : [name]);
        });
    }
}
