namespace Freehold.Benchmarks.CompilerLike;

/// <summary>A node of the syntax tree.</summary>
internal abstract class Node
{
    public static readonly Node[] None = [];

    /// <summary>Makes its name known to those around it, before anything is bound.</summary>
    public virtual void Declare(Binder binder)
    {
    }

    public abstract BoundNode Bind(Binder binder);
}

internal sealed class Literal(Token token, Node[] holes) : Node
{
    public override BoundNode Bind(Binder binder) => new(token.Kind == TokenKind.InterpolatedText ? Operation.Interpolate : Operation.Constant, null, token.Text, binder.Bind(holes));
}

internal sealed class NameNode(Token name, Node[] typeArguments) : Node
{
    public Token Name => name;

    public override BoundNode Bind(Binder binder) => new(Operation.Load, binder.Find(name.Text), null, binder.Bind(typeArguments));
}

internal sealed class MemberAccess(Node target, Token name, Node[] typeArguments) : Node
{
    public override BoundNode Bind(Binder binder)
    {
        var bound = target.Bind(binder);
        return new(Operation.Member, binder.FindMember(bound.Symbol, name.Text), null, [bound, .. binder.Bind(typeArguments)]);
    }
}

/// <summary>What needs no rule of its own: its parts are bound in their order, perhaps in a scope.</summary>
internal sealed class Branch(Operation operation, Token? token, Node[] parts, bool opensScope = false) : Node
{
    public Operation Operation => operation;

    public override void Declare(Binder binder)
    {
        foreach (var part in parts)
        {
            part.Declare(binder);
        }
    }

    public override BoundNode Bind(Binder binder)
    {
        if (opensScope)
        {
            binder.Open();
        }

        var bound = new BoundNode(operation, null, token?.Text, binder.Bind(parts));
        if (opensScope)
        {
            binder.Close();
        }

        return bound;
    }
}

/// <summary>A local, a parameter, a field or a constant, or a type parameter.</summary>
internal sealed class Declaration(SymbolKind kind, Node? type, Token name, Node? value) : Node
{
    public override void Declare(Binder binder) => binder.Declare(name.Text, kind);

    public override BoundNode Bind(Binder binder)
    {
        var boundType = type?.Bind(binder);
        var boundValue = value?.Bind(binder);
        var symbol = kind == SymbolKind.Member ? binder.Find(name.Text) : binder.Declare(name.Text, kind);
        return new(Operation.Declare, symbol, null, BoundNode.Those(boundType, boundValue));
    }
}

/// <summary>A method, a constructor, an operator, a property with its accessors, a local function.</summary>
internal sealed class Function(Node? type, Token name, Node[] head, Node[] parameters, Node? body) : Node
{
    public override void Declare(Binder binder) => binder.Declare(name.Text, SymbolKind.Member);

    public override BoundNode Bind(Binder binder)
    {
        var symbol = binder.Find(name.Text);
        binder.Open();
        var boundHead = binder.Bind(head);
        var boundType = type?.Bind(binder);
        var bound = new BoundNode(Operation.Function, symbol, null, [.. boundHead, .. binder.Bind(parameters), .. BoundNode.Those(boundType, body?.Bind(binder))]);
        binder.Close();
        return bound;
    }
}

internal sealed class TypeDeclaration(Token name, Node[] head, Node[] parameters, Node[] members) : Node
{
    public override void Declare(Binder binder)
    {
        binder.Enter(binder.Declare(name.Text, SymbolKind.Type));
        foreach (var member in members)
        {
            member.Declare(binder);
        }

        binder.Leave();
    }

    public override BoundNode Bind(Binder binder)
    {
        var symbol = binder.Find(name.Text);
        binder.Enter(symbol);
        binder.Open();
        var bound = new BoundNode(Operation.Type, symbol, null, [.. binder.Bind(head), .. binder.Bind(parameters), .. binder.Bind(members)]);
        binder.Close();
        binder.Leave();
        return bound;
    }
}
