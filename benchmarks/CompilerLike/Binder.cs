namespace Freehold.Benchmarks.CompilerLike;

internal enum SymbolKind
{
    Type,
    Member,
    Parameter,
    Local,

    /// <summary>Of the framework, whose names are not known here.</summary>
    External,
}

internal sealed class Symbol(string name, SymbolKind kind)
{
    public string Name { get; } = name;

    public SymbolKind Kind { get; } = kind;

    /// <summary>A type's.</summary>
    public Dictionary<string, Symbol>? Members { get; set; }
}

/// <summary>A node of the bound tree: names are symbols there.</summary>
internal sealed class BoundNode(Operation operation, Symbol? symbol, string? text, BoundNode[] parts)
{
    public Operation Operation { get; } = operation;

    public Symbol? Symbol { get; } = symbol;

    public string? Text { get; } = text;

    public BoundNode[] Parts { get; } = parts;

    public static BoundNode[] Those(params ReadOnlySpan<BoundNode?> nodes)
    {
        var those = new List<BoundNode>();
        foreach (var node in nodes)
        {
            if (node is not null)
            {
                those.Add(node);
            }
        }

        return [.. those];
    }
}

/// <summary>Finds what names mean: a local or parameter around, a member of a type around, a type, or something of the framework.</summary>
internal sealed class Binder
{
    private readonly Dictionary<string, Symbol> _types = new(StringComparer.Ordinal), _externals = new(StringComparer.Ordinal);
    private readonly Stack<Symbol> _around = new();
    private readonly Stack<Dictionary<string, Symbol>> _scopes = new();

    /// <summary>How many names meant something of the text itself.</summary>
    public int Found { get; private set; }

    public void Open() => _scopes.Push(new(StringComparer.Ordinal));

    public void Close() => _scopes.Pop();

    public void Enter(Symbol type) => _around.Push(type);

    public void Leave() => _around.Pop();

    public Symbol Declare(string name, SymbolKind kind)
    {
        var (declared, anew) = kind switch
        {
            // A partial type, an overload: the same symbol again.
            SymbolKind.Type => (_types, false),
            SymbolKind.Member when _around.TryPeek(out var type) && _scopes.Count < 2 => (type.Members ??= new(StringComparer.Ordinal), false),
            _ when _scopes.TryPeek(out var scope) => (scope, true),
            _ => (_externals, false),
        };
        if (anew || !declared.TryGetValue(name, out var symbol))
        {
            declared[name] = symbol = new Symbol(name, kind);
        }

        return symbol;
    }

    public Symbol Find(string name)
    {
        foreach (var scope in _scopes)
        {
            if (scope.TryGetValue(name, out var local))
            {
                return Count(local);
            }
        }

        foreach (var type in _around)
        {
            if (type.Members is { } members && members.TryGetValue(name, out var member))
            {
                return Count(member);
            }
        }

        return _types.TryGetValue(name, out var found) ? Count(found) : External(name);
    }

    public Symbol FindMember(Symbol? target, string name) => target?.Members is { } members && members.TryGetValue(name, out var member) ? Count(member) : External(name);

    public BoundNode[] Bind(Node[] nodes)
    {
        if (nodes.Length == 0)
        {
            return [];
        }

        var bound = new BoundNode[nodes.Length];
        for (var i = 0; i < nodes.Length; i++)
        {
            bound[i] = nodes[i].Bind(this);
        }

        return bound;
    }

    private Symbol Count(Symbol symbol)
    {
        Found++;
        return symbol;
    }

    private Symbol External(string name)
    {
        if (!_externals.TryGetValue(name, out var symbol))
        {
            _externals[name] = symbol = new Symbol(name, SymbolKind.External);
        }

        return symbol;
    }
}
