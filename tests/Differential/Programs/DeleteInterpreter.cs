namespace Freehold.Differential.Programs;

/// <summary>A small Lisp interpreter that deletes the environments and lists it is done with.</summary>
internal static partial class DeleteInterpreter
{
    private abstract class Value;

    private sealed class Num(long n) : Value
    {
        public readonly long N = n;
    }

    private sealed class Symbol(string name) : Value
    {
        public readonly string Name = name;
    }

    private sealed class Pair(Value head, Value? tail) : Value
    {
        public readonly Value Head = head;
        public readonly Value? Tail = tail;
    }

    private sealed class Lambda(Symbol[] parameters, Value body, Scope scope) : Value
    {
        public readonly Symbol[] Parameters = parameters;
        public readonly Value Body = body;
        public readonly Scope Scope = scope;
    }

    private sealed class Scope(Scope? parent)
    {
        public readonly Dictionary<string, Value> Values = [];
        public readonly Scope? Parent = parent;

        public Value Find(string name)
        {
            for (Scope? scope = this; scope is not null; scope = scope.Parent)
            {
                if (scope.Values.TryGetValue(name, out Value? value))
                    return value;
            }
            throw new KeyNotFoundException(name);
        }
    }

    private static Value? Parse(Queue<string> tokens)
    {
        string token = tokens.Dequeue();
        if (token == "(")
        {
            var items = new List<Value>();
            while (tokens.Peek() != ")")
                items.Add(Parse(tokens)!);
            tokens.Dequeue();
            Value? list = null;
            for (int i = items.Count - 1; i >= 0; i--)
                list = new Pair(items[i], list);
            Manual.Delete(items);
            return list;
        }
        return long.TryParse(token, out long n) ? new Num(n) : new Symbol(token);
    }

    private static Value Evaluate(Value value, Scope scope)
    {
        if (value is Num)
            return value;
        if (value is Symbol symbol)
            return scope.Find(symbol.Name);
        var pair = (Pair)value;
        string? name = (pair.Head as Symbol)?.Name;
        switch (name)
        {
            case "if":
                var test = (Num)Evaluate(((Pair)pair.Tail!).Head, scope);
                var branches = (Pair)((Pair)pair.Tail).Tail!;
                return Evaluate(test.N != 0 ? branches.Head : ((Pair)branches.Tail!).Head, scope);
            case "lambda":
                var parameters = new List<Symbol>();
                for (Value? at = ((Pair)pair.Tail!).Head; at is Pair p; at = p.Tail)
                    parameters.Add((Symbol)p.Head);
                return new Lambda([.. parameters], ((Pair)((Pair)pair.Tail).Tail!).Head, scope);
            case "define":
                Value defined = Evaluate(((Pair)((Pair)pair.Tail!).Tail!).Head, scope);
                scope.Values[((Symbol)((Pair)pair.Tail).Head).Name] = defined;
                return defined;
            case "+" or "-" or "*" or "<":
                var left = (Num)Evaluate(((Pair)pair.Tail!).Head, scope);
                var right = (Num)Evaluate(((Pair)((Pair)pair.Tail).Tail!).Head, scope);
                return new Num(name switch { "+" => left.N + right.N, "-" => left.N - right.N, "*" => left.N * right.N, _ => left.N < right.N ? 1 : 0 });
        }
        var function = (Lambda)Evaluate(pair.Head, scope);
        var local = new Scope(function.Scope);
        Value? argument = pair.Tail;
        foreach (Symbol parameter in function.Parameters)
        {
            local.Values[parameter.Name] = Evaluate(((Pair)argument!).Head, scope);
            argument = ((Pair)argument).Tail;
        }
        Value result = Evaluate(function.Body, local);
        if (result is Num)
        {
            // Nothing else can hold the scope: no closure left it.
            Manual.Delete(local.Values);
            Manual.Delete(local);
        }
        return result;
    }

    public static void Run()
    {
        const string text = "( define fib ( lambda ( n ) ( if ( < n 2 ) n ( + ( fib ( - n 1 ) ) ( fib ( - n 2 ) ) ) ) ) ) ( fib 18 ) ( define adder ( lambda ( k ) ( lambda ( x ) ( + x k ) ) ) ) ( define a5 ( adder 5 ) ) ( a5 37 ) ( define fact ( lambda ( n acc ) ( if ( < n 1 ) acc ( fact ( - n 1 ) ( * acc n ) ) ) ) ) ( fact 15 1 )";
        var tokens = new Queue<string>(text.Split(' '));
        var scope = new Scope(null);
        while (tokens.Count > 0)
        {
            Value result = Evaluate(Parse(tokens)!, scope);
            if (result is Num number)
                Console.WriteLine(number.N);
        }
    }
}
