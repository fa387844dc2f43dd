namespace Freehold.Benchmarks.CompilerLike;

/// <summary>What expressions consist of.</summary>
internal sealed partial class Parser
{
    private Node Primary()
    {
        switch (Current)
        {
            case { Kind: TokenKind.Number or TokenKind.Text }:
                return new Literal(Take(), Node.None);
            case { Kind: TokenKind.InterpolatedText }:
                return Interpolated(Take());
            case { Text: "true" or "false" or "null" }:
            case { Text: "default" } when !Peek(1).Is("("):
                return new Literal(Take(), Node.None);
            case { Text: "(" }:
                return new Branch(Operation.List, Take(), Arguments(")"));
            case { Text: "[" }:
                return new Branch(Operation.List, Take(), Until("]", ",", Element));
            case { Text: "{" }:
                return Initializer();
            case { Text: "new" or "stackalloc" }:
                return Creation();
            case { Text: "typeof" or "sizeof" or "default" }:
                var operation = Take();
                Expect("(");
                var type = Type();
                Expect(")");
                return new Branch(Operation.Unary, operation, [type]);
            case { Text: "this" or "base" or "checked" or "unchecked" }:
                return new NameNode(Take(), Node.None);
            case { Kind: TokenKind.Name } when AtIdentifier:
                var name = Take();
                if (At("::"))
                {
                    Take();
                    name = ExpectName();
                }

                return new NameNode(name, GenericArguments());
            default:
                return Skip();
        }
    }

    /// <summary>Is 'a &lt; b' the beginning of type arguments? What follows them tells.</summary>
    private Node[] GenericArguments()
    {
        if (!At("<"))
        {
            return Node.None;
        }

        var (at, skipped) = (_at, Skipped);
        if (TypeArguments() is { } arguments && AtAny("(", ")", "]", "}", "{", ":", ";", ",", ".", "?", "==", "!=", "?.", "[", "=>", "??"))
        {
            return arguments;
        }

        (_at, Skipped) = (at, skipped);
        return Node.None;
    }

    private Node Postfix(Node target)
    {
        while (true)
        {
            if (AtAny(".", "?.", "->"))
            {
                Take();
                if (Accept("["))
                {
                    target = new Branch(Operation.Index, null, [target, .. Arguments("]")]);
                    continue;
                }

                var name = ExpectName();
                target = new MemberAccess(target, name, GenericArguments());
            }
            else if (At("("))
            {
                var token = Take();
                target = new Branch(Operation.Invoke, token, [target, .. Arguments(")")]);
            }
            else if (At("[") || (At("?") && Peek(1).Is("[") && Peek(1).IsGlued && Current.IsGlued))
            {
                Accept("?");
                var token = Take();
                target = new Branch(Operation.Index, token, [target, .. Arguments("]")]);
            }
            else if (AtAny("++", "--") || (At("!") && Current.IsGlued))
            {
                target = new Branch(Operation.Unary, Take(), [target]);
            }
            else
            {
                return target;
            }
        }
    }

    private Node Element()
    {
        if (At(".."))
        {
            return new Branch(Operation.Unary, Take(), [Expression()]);
        }

        return Expression();
    }

    private Node Creation()
    {
        var token = Take();
        var parts = new List<Node>();
        if (At("["))
        {
            // new[] { … }, stackalloc[] { … }
            while (!Accept("]") && Current.Kind != TokenKind.End)
            {
                Take();
            }
        }
        else if (!AtAny("(", "{"))
        {
            parts.Add(Type());
        }

        while (Accept("["))
        {
            parts.AddRange(Arguments("]"));
        }

        if (Accept("("))
        {
            parts.AddRange(Arguments(")"));
        }

        if (At("{"))
        {
            parts.Add(Initializer());
        }

        return new Branch(Operation.Create, token, [.. parts]);
    }

    private Node Initializer()
    {
        var token = Current;
        Expect("{");
        return new Branch(Operation.List, token, Until("}", ",", () =>
        {
            if (!At("["))
            {
                return Expression();
            }

            // ["key"] = value, or a collection
            return Try(() =>
            {
                var key = Take();
                Node[] index = Arguments("]");
                return Accept("=") ? new Branch(Operation.Assign, key, [.. index, Expression()]) : null;
            }) ?? Expression();
        }));
    }

    /// <summary>The expressions in the holes of a text.</summary>
    private Node Interpolated(Token token)
    {
        var text = token.Text;
        var holes = new List<Node>();
        var dollars = text.TakeWhile(c => c is '$' or '@').Count(c => c == '$');
        for (var i = 0; i < text.Length; i++)
        {
            var braces = 0;
            while (i + braces < text.Length && text[i + braces] == '{')
            {
                braces++;
            }

            if (braces < dollars || (dollars == 1 && braces % 2 == 0))
            {
                i += braces;
                continue;
            }

            var start = i + braces;
            var end = EndOfHole(text, start);
            var inner = new Parser(new Lexer(text[start..end], names).Run(), names);
            holes.Add(inner.Expression());
            Skipped += inner.Skipped;
            i = end;
        }

        return new Literal(token, [.. holes]);
    }

    /// <summary>Where its format or its closing brace begins.</summary>
    private static int EndOfHole(string text, int start)
    {
        var depth = 0;
        for (var i = start; i < text.Length; i++)
        {
            switch (text[i])
            {
                case '"' or '\'':
                    var quote = text[i];
                    for (i++; i < text.Length && text[i] != quote; i++)
                    {
                        i += text[i] == '\\' ? 1 : 0;
                    }

                    break;
                case '(' or '[' or '{':
                    depth++;
                    break;
                case ')' or ']' or '}' when depth > 0:
                    depth--;
                    break;
                case '}' or ':' when depth == 0 && text[i..(Math.Min(text.Length, i + 2))] != "::":
                    return i;
                default:
                    break;
            }
        }

        return text.Length;
    }
}
