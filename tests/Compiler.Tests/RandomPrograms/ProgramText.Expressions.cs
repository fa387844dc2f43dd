using System;
using System.Collections.Generic;
using System.Linq;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>The expressions of a random program. Null may be the value of each.</summary>
internal sealed partial class ProgramText
{
    private string? Some(Kind kind, bool canBeSet = false)
    {
        Variable[] candidates = [.. _variables.Where(variable => variable.Kind == kind && (!canBeSet || variable.CanBeSet) && (!_isLambda || variable.CanBeCaptured))];
        return candidates.Length == 0 ? null : OneOf(candidates).Name;
    }

    private string Expression(Kind kind, int depth)
    {
        string expression = Bare(kind, depth);
        return expression.All(char.IsAsciiLetterOrDigit) ? expression : $"({expression})";
    }

    private string Bare(Kind kind, int depth)
    {
        if (depth <= 0 || Chance(0.3))
        {
            return Some(kind) ?? (Chance(0.1) ? $"default({TypeOf(kind)})" : Made(kind, depth - 1));
        }

        for (int tries = 0; tries < 12; tries++)
        {
            string? expression = kind switch
            {
                Kind.Number => Number(depth - 1),
                Kind.Node => Node(depth - 1),
                Kind.Object => Object(depth - 1),
                Kind.Thing => Thing(depth - 1),
                Kind.Nodes => Nodes(depth - 1),
                Kind.Pair => Pair(depth - 1),
                Kind.Cell => Cell(depth - 1),
                Kind.Function => Function(depth - 1),
                Kind.List => List(depth - 1),
                _ => Text(depth - 1),
            };
            if (expression is not null)
            {
                return expression;
            }
        }

        return Made(kind, depth - 1);
    }

    private string Made(Kind kind, int depth)
    {
        switch (kind)
        {
            case Kind.Number:
                return "Support.Choose(5)";
            case Kind.Nodes:
                return depth > 0 ? Chance(0.5) ? $"new Node[] {{ {Several(depth)} }}" : $"(Node[])[{Several(depth)}]" : "new Node[2]";
            case Kind.Pair:
                return depth <= 0 ? "new Pair(null, null)" : Chance(0.7) ? $"new Pair({Expression(Kind.Node, depth)}, {Expression(Kind.Node, depth)})" : $"new Pair({Expression(Kind.Object, depth)})";
            case Kind.Cell:
                return depth > 0 ? $"new Cell<Node>({Expression(Kind.Node, depth)})" : "new Cell<Node>()";
            case Kind.Function:
                return Lambda(Math.Max(depth, 1));
            case Kind.List:
                return depth > 0 ? Chance(0.5) ? $"new List<Node> {{ {Several(depth)} }}" : $"(List<Node>)[{Several(depth)}]" : "new List<Node>()";
            case Kind.Text:
                return Chance(0.3) ? "\"a literal\"" : "Support.Choose(9).ToString()";
            case Kind.Object when Chance(0.2):
                return "new object()";
            case Kind.Thing when depth > 0 && Has("interface") && Chance(0.4):
                return $"new Wrapped({Expression(Kind.Node, depth)})";
        }

        string name = Has("finalizer") && Chance(0.1) ? "Final" : OneOf(_classes);
        if (depth <= 0 || name == "Final")
        {
            return $"new {name}()";
        }

        if (Has("initializer") && Chance(0.5))
        {
            IEnumerable<Variable> fields = Enumerable.Range(0, 1 + _random.Next(2)).Select(_ => OneOf(_nodeFields)).Distinct();
            return $"new {name} {{ {string.Join(", ", fields.Select(field => $"{field.Name} = {Expression(field.Kind, depth)}"))} }}";
        }

        return Chance(0.5) ? $"new {name}({Expression(Kind.Node, depth)}, {Expression(Kind.Object, depth)})" : $"new {name}()";
    }

    private string Several(int depth) => string.Join(", ", Enumerable.Range(0, 1 + _random.Next(3)).Select(_ => Expression(Kind.Node, depth)));

    // What all kinds have: calls, fields of nodes, conditions, casts.
    private string? Any(Kind kind, int depth)
    {
        switch (_random.Next(9))
        {
            case 0 or 1:
                return Called(_methods.Skip(_callable).Where(method => method.Result == kind && !method.IsIterator), depth);
            case 2 when _virtuals.Any(method => method.Result == kind):
                return $"{Receiver(depth)}.{Called(_virtuals.Where(method => method.Result == kind), depth)}";
            case 3 or 4 when _nodeFields.Where(field => field.Kind == kind).ToArray() is { Length: > 0 } fields:
                return kind is Kind.Pair ? null : $"{Receiver(depth)}?.{OneOf(fields).Name}";
            case 5 when Has("conditional"):
                return Chance(0.5) || kind is Kind.Pair or Kind.Number
                    ? $"(Support.Choose(2) == 0 ? ({TypeOf(kind)}){Expression(kind, depth)} : {Expression(kind, depth)})"
                    : $"(({TypeOf(kind)}){Expression(kind, depth)} ?? {Expression(kind, depth)})";
            case 6 when Has("generic"):
                return $"Either<{TypeOf(kind)}>({Expression(kind, depth)}, {Expression(kind, depth)})";
            case 7 when Has("box") && kind is not (Kind.Number or Kind.Object or Kind.Pair or Kind.Thing):
                return Chance(0.5) ? $"((object){Expression(Kind.Object, depth)} as {TypeOf(kind)})" : $"As<{TypeOf(kind)}>({Expression(Kind.Object, depth)})";
            case 8 when _instance.Any(method => method.Result == kind):
                return $"{Receiver(depth)}.{Called(_instance.Where(method => method.Result == kind), depth)}";
            default:
                return null;
        }
    }

    // Null now and then: the exception that this makes is one more way out.
    private string Receiver(int depth) => Some(Kind.Node) is { } name && Chance(0.7) ? name : $"({Expression(Kind.Node, depth)})";

    private string? Called(IEnumerable<Signature> candidates, int depth, bool declares = false)
    {
        Signature[] fitting = [.. candidates];
        if (fitting.Length == 0)
        {
            return null;
        }

        Signature method = OneOf(fitting);
        List<string> arguments = [];
        List<Variable> declared = [];
        foreach ((string mode, Kind kind) in method.Parameters)
        {
            if (mode == "")
            {
                arguments.Add(Expression(kind, depth));
            }
            else if (Some(kind, canBeSet: true) is { } variable)
            {
                arguments.Add(mode + variable);
            }
            else if (mode == "out " && declares)
            {
                string name = NewName("v");
                arguments.Add($"out {TypeOf(kind)} {name}");
                declared.Add(new Variable(name, kind));
            }
            else if (mode == "out ")
            {
                arguments.Add("out _");
            }
            else
            {
                return null;
            }
        }

        _declared.AddRange(declared);
        return $"{method.Name}({string.Join(", ", arguments)})";
    }

    private readonly List<Variable> _declared = [];

    private string? Number(int depth) => _random.Next(5) switch
    {
        0 => $"({Expression(Kind.Node, depth)}?.N ?? 1)",
        1 when Has("text") => $"({Expression(Kind.Text, depth)}?.Length ?? 2)",
        2 when Has("array") => $"({Expression(Kind.Nodes, depth)}?.Length ?? 3)",
        _ => Made(Kind.Number, depth),
    };

    private string? Node(int depth) => _random.Next(14) switch
    {
        0 or 1 => Made(Kind.Node, depth),
        2 when Has("array") => $"Pick({Expression(Kind.Nodes, depth)})",
        3 when Has("pair") => $"{Expression(Kind.Pair, depth)}.{OneOf(["A", "B"])}",
        4 when Has("pair") && Some(Kind.Pair, canBeSet: true) is { } pair => $"{pair}.Change({ArgumentOfChange(depth)})",
        5 when Has("interface") => $"({Expression(Kind.Thing, depth)}).Do({Expression(Kind.Node, depth)})",
        6 when Has("cell") => $"{Expression(Kind.Cell, depth)}?.{OneOf(["Get()", "Value"])}",
        7 when Has("lambda") => $"{Expression(Kind.Function, depth)}?.Invoke({Expression(Kind.Node, depth)})",
        8 when Has("list") => $"PickFrom({Expression(Kind.List, depth)})",
        9 when Has("atomic") && Some(Kind.Node, canBeSet: true) is { } name => $"Interlocked.{OneOf(["Exchange", "Exchange"])}(ref {name}, {Expression(Kind.Node, depth)})",
        10 when Has("ref") => $"{Receiver(depth)}.Slot()",
        11 when Has("cell") && Has("lambda") => $"{Expression(Kind.Cell, depth)}?.Map({Expression(Kind.Function, depth)})",
        12 when Has("unsafe-as") => $"Unsafe.As<Node>({Expression(Kind.Node, depth)})",
        _ => Any(Kind.Node, depth),
    };

    private string? ArgumentOfChange(int depth) => Expression(_changes, depth);

    private string? Object(int depth) => _random.Next(6) switch
    {
        0 => $"{Receiver(depth)}?.Value",
        1 when Has("box") && Has("pair") => $"(object){Expression(Kind.Pair, depth)}",
        2 when Has("box") => "(object)Support.Choose(9)",
        3 => Expression(OneOf(Kinds().Where(kind => kind is not (Kind.Pair or Kind.Object)).ToArray()), depth),
        4 when Has("cell") => $"{Expression(Kind.Cell, depth)}?.Other",
        _ => Any(Kind.Object, depth),
    };

    private string? Thing(int depth) => _random.Next(4) switch
    {
        0 when Has("pair") => $"(IThing){Expression(Kind.Pair, depth)}",
        1 => $"((object){Expression(Kind.Object, depth)} as IThing)",
        2 => $"(IThing){Expression(Kind.Node, depth)}",
        _ => Any(Kind.Thing, depth),
    };

    private string? Nodes(int depth) => _random.Next(4) switch
    {
        0 => Made(Kind.Nodes, depth),
        1 when Has("list") => $"{Expression(Kind.List, depth)}?.ToArray()",
        2 when Has("cell") => $"{Expression(Kind.Cell, depth)}?.Many",
        _ => Any(Kind.Nodes, depth),
    };

    private string? Pair(int depth) => _random.Next(4) switch
    {
        0 => Made(Kind.Pair, depth),
        1 when Has("box") => $"((object){Expression(Kind.Object, depth)} is Pair {NewName("q")} ? q{_names - 1} : default)",
        2 when _nodeFields.Any(field => field.Kind == Kind.Pair) => $"({Receiver(depth)}?.Both ?? default)",
        _ => Any(Kind.Pair, depth),
    };

    private string? Cell(int depth) => _random.Next(4) switch
    {
        0 => Made(Kind.Cell, depth),
        1 => $"{Expression(Kind.Cell, depth)}?.{OneOf(["Chain()", "Clone()"])}",
        _ => Any(Kind.Cell, depth),
    };

    private string? Function(int depth) => _random.Next(4) switch
    {
        0 => Lambda(depth),
        1 when _methods.Skip(_callable).FirstOrDefault(one => one is { Result: Kind.Node, IsIterator: false, Parameters: [("", Kind.Node)] }) is { } method => $"(Func<Node, Node>){method.Name}",
        2 when Has("interface") && Some(Kind.Node) is { } node => $"({node} is {{ }} ? (Func<Node, Node>){node}.Do : null)",
        _ => Any(Kind.Function, depth),
    };

    private string? List(int depth) => Chance(0.4) ? Made(Kind.List, depth) : Any(Kind.List, depth);

    private string? Text(int depth) => _random.Next(5) switch
    {
        0 => $"string.Concat({Expression(Kind.Text, depth)}, {Expression(Kind.Text, depth)})",
        1 => $"$\"<{{{Expression(Kind.Number, depth)}}}>\"",
        2 => "Support.Choose(99).ToString()",
        3 when Has("texts") => "s_texts[Support.Choose(4)]",
        _ => Any(Kind.Text, depth),
    };

    private string Lambda(int depth)
    {
        string name = NewName("n");
        (List<Variable> before, bool lambda) = (_variables, _isLambda);
        _variables = [.. before.Where(variable => variable.CanBeCaptured), new Variable(name, Kind.Node)];
        _isLambda = true;
        string body = Expression(Kind.Node, depth);
        if (Some(Kind.Node, canBeSet: true) is { } captured && Chance(0.3))
        {
            body = $"{captured} = {body}";
        }

        (_variables, _isLambda) = (before, lambda);
        return $"(Func<Node, Node>)({name} => {body})";
    }
}
