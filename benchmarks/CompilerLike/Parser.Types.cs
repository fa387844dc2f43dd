namespace Freehold.Benchmarks.CompilerLike;

/// <summary>Types, and the question whether something is one.</summary>
internal sealed partial class Parser
{
    private static readonly HashSet<string> s_notNames =
    [
        "abstract", "as", "await", "base", "break", "case", "catch", "checked", "class", "const", "continue", "default", "do", "else", "enum", "event", "explicit", "extern", "false", "finally", "fixed",
        "for", "foreach", "goto", "if", "implicit", "in", "interface", "internal", "is", "lock", "namespace", "new", "null", "operator", "out", "override", "params", "private", "protected", "public",
        "readonly", "ref", "return", "sealed", "sizeof", "stackalloc", "static", "struct", "switch", "this", "throw", "true", "try", "typeof", "unchecked", "unsafe", "using", "virtual", "volatile", "while",
        "yield",
    ];

    private static readonly HashSet<string> s_predefined =
        ["bool", "byte", "char", "decimal", "double", "float", "int", "long", "object", "sbyte", "short", "string", "uint", "ulong", "ushort", "void", "nint", "nuint"];

    private bool AtIdentifier => Current.Kind == TokenKind.Name && !s_notNames.Contains(Current.Text);

    private Node Type() => TryType(allowNullable: true) ?? Skip();

    /// <summary>A type, or null: then nothing has been read.</summary>
    private Node? TryType(bool allowNullable) => Try(() =>
    {
        while (AtAny("ref", "readonly", "scoped") && Peek(1).Kind is TokenKind.Name)
        {
            Take();
        }

        var first = Current;
        Node? type = At("(") ? TupleType() : At("delegate") && Peek(1).Is("*") ? FunctionPointer() : AtIdentifier ? TypeName() : null;
        if (type is null)
        {
            return null;
        }

        var ranks = new List<Node>();
        while (true)
        {
            if (At("*") || (At("?") && (allowNullable || Peek(1).Text is ")" or ";" or "," or "]" or "}" or ">")))
            {
                ranks.Add(new Branch(Operation.TypeName, Take(), Node.None));
            }
            else if (At("[") && Peek(1).Text is "]" or ",")
            {
                var rank = Take();
                while (Accept(","))
                {
                }

                if (!Accept("]"))
                {
                    return null;
                }

                ranks.Add(new Branch(Operation.TypeName, rank, Node.None));
            }
            else
            {
                return (Node)new Branch(Operation.TypeName, first, [type, .. ranks]);
            }
        }
    });

    private Node? TypeName()
    {
        Node? name = null;
        do
        {
            if (!AtIdentifier)
            {
                return null;
            }

            var token = Take();
            var arguments = At("<") ? TypeArguments() : Node.None;
            if (arguments is null)
            {
                return null;
            }

            name = name is null ? new NameNode(token, arguments) : new MemberAccess(name, token, arguments);
        }
        while (Accept(".") || Accept("::"));
        return name;
    }

    /// <summary>Null: they are none.</summary>
    private Node[]? TypeArguments()
    {
        Expect("<");
        var arguments = new List<Node>();
        while (At(",") || At(">"))
        {
            // typeof(List<>)
            if (Accept(">"))
            {
                return [.. arguments];
            }

            Take();
        }

        do
        {
            while (At("["))
            {
                Attributes();
            }

            _ = Accept("in") || Accept("out");
            if (TryType(allowNullable: true) is not { } argument)
            {
                return null;
            }

            arguments.Add(argument);
        }
        while (Accept(","));
        return Accept(">") ? [.. arguments] : null;
    }

    private Node? TupleType()
    {
        Take();
        var elements = new List<Node>();
        do
        {
            if (TryType(allowNullable: true) is not { } element)
            {
                return null;
            }

            elements.Add(element);
            if (AtIdentifier)
            {
                Take();
            }
        }
        while (Accept(","));
        return elements.Count > 1 && Accept(")") ? new Branch(Operation.TypeName, null, [.. elements]) : null;
    }

    private Node? FunctionPointer()
    {
        var token = Take();
        Take();
        _ = Accept("managed") || Accept("unmanaged");
        if (Accept("["))
        {
            while (!Accept("]") && Current.Kind != TokenKind.End)
            {
                Take();
            }
        }

        return TypeArguments() is { } arguments ? new Branch(Operation.TypeName, token, arguments) : null;
    }
}
