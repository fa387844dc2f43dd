using System.Collections.Generic;
using System.Linq;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>The types of a random program.</summary>
internal sealed partial class ProgramText
{
    private readonly List<Variable> _nodeFields = [];
    private readonly List<string> _classes = ["Node"];
    private readonly List<Signature> _virtuals = [];

    private static readonly Signature s_do = new("Do", Kind.Node, [("", Kind.Node)]);
    private static readonly Signature s_put = new("Put", null, [("", Kind.Object)]);

    private void WriteTypes()
    {
        _nodeFields.AddRange([new Variable("Next", Kind.Node), new Variable("Value", Kind.Object)]);
        foreach ((string feature, Variable field) in new[]
        {
            ("array", new Variable("Items", Kind.Nodes)), ("pair", new Variable("Both", Kind.Pair)), ("cell", new Variable("Held", Kind.Cell)),
            ("lambda", new Variable("Call", Kind.Function)), ("list", new Variable("All", Kind.List)), ("text", new Variable("Name", Kind.Text)),
        })
        {
            if (Has(feature) && Chance(0.7))
            {
                _nodeFields.Add(field);
            }
        }

        if (Chance(0.5))
        {
            _nodeFields.Add(new Variable("Box", Kind.Node));
        }

        if (Has("virtual"))
        {
            _virtuals.AddRange([new Signature("V0", OneOf(Kinds()), [("", OneOf(Kinds()))]), new Signature("V1", null, [("", OneOf(Kinds())), ("", OneOf(Kinds()))])]);
        }

        bool isThing = Has("interface");
        if (isThing)
        {
            Line("public interface IThing { Node Do(Node n); void Put(object o); }");
        }

        Open($"public class Node{(isThing ? " : IThing" : "")}");
        Line("public int N = 7;");
        foreach (Variable field in _nodeFields)
        {
            Line($"public {TypeOf(field.Kind)} {field.Name};");
        }

        Line("public Node() { }");
        WriteConstructor("Node", null);
        WriteMembers(isThing, Has("subclass") ? "virtual " : "", "virtual ");
        WriteInstanceMethods();
        Close();
        if (Has("subclass"))
        {
            for (int i = 0; i <= _random.Next(3); i++)
            {
                string parent = OneOf(_classes), name = $"Node{i}";
                Open($"public class {name} : {parent}");
                Line($"public {name}() {{ }}");
                WriteConstructor(name, "base(a, b)");
                WriteMembers(isThing && Chance(0.5), "override ", Chance(0.15) ? "new virtual " : "override ");
                Close();
                _classes.Add(name);
            }
        }

        if (Has("finalizer"))
        {
            Line("public class Final : Node { ~Final() { } }");
        }

        WritePair(isThing);
        if (isThing)
        {
            Open("public class Wrapped : IThing");
            Line("public Node A; public object O;");
            Line("public Wrapped(Node a) { A = a; }");
            WithFields([new Variable("A", Kind.Node), new Variable("O", Kind.Object)], () =>
            {
                WriteMethod("public ", s_do, [.. _variables], 1 + _random.Next(2));
                WriteMethod("public ", s_put, [.. _variables], 1 + _random.Next(2));
            });
            Close();
        }

        Line("public class Failure : Exception { public Node Load; public Failure(Node load) { Load = load; } }");
    }

    private void WriteConstructor(string name, string? chain)
    {
        string first = TypeOf(Kind.Node), second = TypeOf(Kind.Object);
        Open($"public {name}({first} a, {second} b){(chain is null ? "" : $" : {chain}")}");
        if (chain is null)
        {
            WithFields([.. _nodeFields, new Variable("a", Kind.Node), new Variable("b", Kind.Object)], () => WriteBody(2));
            Line(Chance(0.8) ? "Next = a; Value = b;" : "Value = a;");
        }
        else
        {
            Line(Chance(0.5) ? "Next = a;" : "");
        }

        Close();
    }

    private void WriteMembers(bool isThing, string ofInterface, string ofClass)
    {
        WithFields([.. _nodeFields, new Variable("this", Kind.Node, CanBeSet: false)], () =>
        {
            if (isThing)
            {
                WriteMethod($"public {ofInterface}", s_do, [.. _variables], 1 + _random.Next(3));
                WriteMethod($"public {ofInterface}", s_put, [.. _variables], 1 + _random.Next(3));
            }

            foreach (Signature signature in _virtuals)
            {
                WriteMethod($"public {ofClass}", signature, [.. _variables], 1 + _random.Next(3));
            }
        });
    }

    private readonly List<Signature> _instance = [];

    // Not virtual: of the node, with what hangs on it.
    private void WriteInstanceMethods()
    {
        for (int i = 0; i < 1 + _random.Next(3); i++)
        {
            Signature signature = new($"N{i}", Chance(0.6) ? OneOf(Kinds()) : null, [.. Enumerable.Range(0, _random.Next(3)).Select(_ => (Has("out") && Chance(0.15) ? "out " : "", OneOf(Kinds())))]);
            WithFields([.. _nodeFields, new Variable("this", Kind.Node, CanBeSet: false)], () => WriteMethod("public ", signature, [.. _variables], 1 + _random.Next(4)));
            _instance.Add(signature);
        }

        if (Has("ref"))
        {
            Line($"public ref Node Slot() {{ {(Chance(0.5) ? "Next ??= new Node(); return ref Next;" : "return ref Next;")} }}");
        }
    }

    private void WritePair(bool isThing)
    {
        Variable[] fields = [new Variable("A", Kind.Node, CanBeCaptured: false), new Variable("B", Kind.Node, CanBeCaptured: false), new Variable("O", Kind.Object, CanBeCaptured: false)];
        Open($"public struct Pair{(isThing ? " : IThing" : "")}");
        Line("public Node A, B; public object O;");
        Line("public Pair(Node a, Node b) { A = a; B = b; O = null; }");
        if (Chance(0.5))
        {
            Open("public Pair(object o) : this(null, null)");
            Line("O = o;");
            Line(Chance(0.5) ? "A = new Node { Value = o };" : "B = o as Node;");
            Close();
        }
        else
        {
            Line("public Pair(object o) : this(null, null) { O = o; }");
        }

        WithFields([.. fields], () =>
        {
            if (isThing)
            {
                WriteMethod("public ", s_do, [.. _variables], 1 + _random.Next(2));
                WriteMethod("public ", s_put, [.. _variables], 1 + _random.Next(2));
            }

            WriteMethod("public ", new Signature("Change", Kind.Node, [("", _changes)]), [.. _variables], 1 + _random.Next(3));
            WriteMethod("public ", new Signature("Link", null, []), [.. _variables], 1 + _random.Next(3));
        });
        Close();
    }

    // What a generic type or method does with values of a type parameter.
    private void WriteGenerics()
    {
        Open("public class Cell<T> where T : class");
        Line("public T Value; public T[] Many = Array.Empty<T>(); public object Other;");
        Line("public Cell() { }");
        Line($"public Cell(T value) {{ {OneOf(["Value = value;", "Add(value);", "Value = value; Add(value);", "Other = new Cell<T> { Value = value };"])} }}");
        Line($"public T Get() => {OneOf(["Value", "Many.Length == 0 ? Value : Many[0]", "Value ?? (Other as Cell<T>)?.Value", "(Other as T) ?? Value"])};");
        string[] additions =
        [
            "T[] more = new T[Many.Length + 1]; Array.Copy(Many, more, Many.Length); more[Many.Length] = item; Many = more;",
            "Array.Resize(ref Many, Many.Length + 1); Many[Many.Length - 1] = item;",
            "Many = [.. Many, item];",
            "Other = new Cell<T> { Value = item, Other = Other };",
        ];
        Line($"public void Add(T item) {{ {OneOf(additions)} }}");
        Line("public T Swap(ref T other) { T old = Value; Value = other; other = old; return old; }");
        Line("public Cell<T> Chain() => new Cell<T>(Value) { Other = this };");
        Line("public Cell<T> Clone() => (Cell<T>)MemberwiseClone();");
        Line("public T Map(Func<T, T> map) => Value = map(Value);");
        Close();
        Line($"public static T Either<T>(T a, T b) => {OneOf(["Support.Choose(2) == 0 ? a : b", "new[] { a, b }[Support.Choose(2)]"])};");
        Line("public static T Pick<T>(T[] a) => a == null || a.Length == 0 ? default : a[Support.Choose(a.Length)];");
        Line("public static void Set<T>(T[] a, T b) { if (a != null && a.Length != 0) a[Support.Choose(a.Length)] = b; }");
        Line("public static T PickFrom<T>(List<T> a) => a == null || a.Count == 0 ? default : a[Support.Choose(a.Count)];");
        Line("public static void Exchange<T>(ref T a, ref T b) { T c = a; a = b; b = c; }");
        Line("public static TOut As<TOut>(object o) where TOut : class => o as TOut;");
    }

    private void WithFields(List<Variable> fields, System.Action write)
    {
        (List<Variable> before, int callable) = (_variables, _callable);
        _variables = [.. _fields, .. fields];
        _callable = Has("recursion") ? 0 : _methods.Count / 2;
        write();
        (_variables, _callable) = (before, callable);
    }

    private void WriteBody(int statements)
    {
        (Kind? result, bool yields, int loops) = (_result, _yields, _loops);
        (_result, _yields, _loops) = (null, false, 0);
        WriteStatements(statements);
        (_result, _yields, _loops) = (result, yields, loops);
    }
}
