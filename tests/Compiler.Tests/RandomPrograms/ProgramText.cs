using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>
/// The C# text of a random program: a class with types, methods, and the methods <c>Entry0</c>, <c>Entry1</c> … that run it. Each program uses some features of the language and leaves others out,
/// or else nearly every object would escape. Decisions at run time and the number of steps come from <see cref="Support"/>.
/// </summary>
internal sealed partial class ProgramText
{
    private const int Entries = 3;
    private static readonly string[] s_features =
    [
        "static", "virtual", "interface", "lambda", "local", "list", "cell", "box", "array", "pair", "text", "throw", "finally", "loop", "ref", "out", "span", "iterator", "generic",
        "finalizer", "unknown", "pointer", "fixed", "atomic", "initializer", "subclass", "recursion", "conditional", "texts", "unsafe-as", "resize", "copy",
    ];

    private readonly Random _random;
    private readonly StringBuilder _text = new();
    private readonly HashSet<string> _features = [];
    private readonly List<Signature> _methods = [];
    private readonly List<Variable> _fields = [];
    private List<Variable> _variables = [];
    private int _indent;
    private int _names;
    private int _callable;
    private readonly Kind _changes;
    private Kind? _result;
    private bool _yields;
    private bool _isLambda;
    private int _loops;

    private ProgramText(int seed)
    {
        _random = new Random(seed);
        double share = 0.15 + (0.7 * _random.NextDouble());
        _features.UnionWith(s_features.Where(_ => _random.NextDouble() < share));
        _changes = OneOf(Kinds());
    }

    /// <summary>What the text of programs begins with.</summary>
    public const string Usings = """
        using System;
        using System.Collections.Generic;
        using System.Runtime.CompilerServices;
        using System.Runtime.InteropServices;
        using System.Threading;

        """;

    /// <summary>What all programs use; one assembly has it once.</summary>
    public const string Support = """
        using System.Runtime.CompilerServices;
        public static class Support
        {
            public static int Steps, State;
            public static bool Step() => --Steps > 0;
            public static int Choose(int n) { State = (State * 1103515245) + 12345; return ((State >> 16) & 0x7fff) % n; }
            public static void Use(object o) { }
            [MethodImpl(MethodImplOptions.InternalCall)] public static extern void Keep(object o);
        }
        """;

    /// <summary>The program of a seed.</summary>
    public static string Of(int seed)
    {
        ProgramText text = new(seed);
        text.WriteProgram($"Program{seed}");
        return text._text.ToString();
    }

    private bool Has(string feature) => _features.Contains(feature);

    private bool Chance(double probability) => _random.NextDouble() < probability;

    private T OneOf<T>(IReadOnlyList<T> list) => list[_random.Next(list.Count)];

    private string NewName(string stem) => stem + (_names++).ToString(CultureInfo.InvariantCulture);

    private static string TypeOf(Kind kind) => kind switch
    {
        Kind.Number => "int",
        Kind.Object => "object",
        Kind.Nodes => "Node[]",
        Kind.Cell => "Cell<Node>",
        Kind.Function => "Func<Node, Node>",
        Kind.List => "List<Node>",
        Kind.Text => "string",
        Kind.Thing => "IThing",
        _ => kind.ToString(),
    };

    private IReadOnlyList<Kind> Kinds()
    {
        List<Kind> kinds = [Kind.Node, Kind.Node, Kind.Node, Kind.Object];
        Add("interface", Kind.Thing);
        Add("array", Kind.Nodes);
        Add("pair", Kind.Pair);
        Add("cell", Kind.Cell);
        Add("lambda", Kind.Function);
        Add("list", Kind.List);
        Add("text", Kind.Text);
        return kinds;

        void Add(string feature, Kind kind)
        {
            if (Has(feature))
            {
                kinds.Add(kind);
            }
        }
    }

    private void Line(string line) => _text.Append(' ', 4 * _indent).Append(line).Append('\n');

    private void Open(string line)
    {
        Line(line);
        Line("{");
        _indent++;
    }

    private void Close(string end = "}")
    {
        _indent--;
        Line(end);
    }

    private void WriteProgram(string name)
    {
        int count = 3 + _random.Next(6);
        for (int i = 0; i < count; i++)
        {
            _methods.Add(NewSignature($"M{i}"));
        }

        Open($"public static class {name}");
        if (Has("static"))
        {
            foreach (Kind kind in Kinds().Distinct().Where(_ => Chance(0.5)))
            {
                Variable field = new($"s_{kind}", kind);
                _fields.Add(field);
                Line($"public static {TypeOf(kind)} {field.Name};");
            }
        }

        if (Has("unknown"))
        {
            Line("public static object s_published;");
            Line("public static void Publish(object o) => s_published = o;");
        }

        if (Has("texts"))
        {
            Line("private static readonly string[] s_texts = new string[4];");
        }

        WriteTypes();
        WriteGenerics();
        for (int i = 0; i < count; i++)
        {
            // A method calls those behind it, so that summaries are of chains, unless there is recursion.
            _callable = Has("recursion") ? 0 : i + 1;
            Signature method = _methods[i];
            WriteMethod("public static ", method, [.. _fields], 2 + _random.Next(6));
        }

        _callable = 0;
        for (int i = 0; i < Entries; i++)
        {
            WriteMethod("public static ", new Signature($"Entry{i}", null, []), [.. _fields], 5 + _random.Next(12));
        }

        Close();
    }

    private Signature NewSignature(string name)
    {
        if (Has("iterator") && Chance(0.25))
        {
            return new Signature(name, Kind.Node, [.. Enumerable.Range(0, 1 + _random.Next(2)).Select(_ => ("", OneOf(Kinds())))], IsIterator: true);
        }

        Kind? result = Chance(0.75) ? OneOf(Kinds()) : null;
        return new Signature(name, result, [.. Enumerable.Range(0, 1 + _random.Next(3)).Select(_ => (Mode(), OneOf(Kinds())))]);

        string Mode() => Has("ref") && Chance(0.2) ? "ref " : Has("out") && Chance(0.15) ? "out " : "";
    }

    private void WriteMethod(string modifiers, Signature method, List<Variable> visible, int statements)
    {
        List<string> parameters = [];
        foreach ((string mode, Kind kind) in method.Parameters)
        {
            string name = NewName("p");
            parameters.Add($"{mode}{TypeOf(kind)} {name}");
            visible.Add(new Variable(name, kind, CanBeCaptured: mode == ""));
        }

        string result = method.IsIterator ? "IEnumerable<Node>" : method.Result is { } kindOfResult ? TypeOf(kindOfResult) : "void";
        Open($"{modifiers}{result} {method.Name}({string.Join(", ", parameters)})");
        foreach ((string parameter, (string mode, _)) in parameters.Zip(method.Parameters))
        {
            if (mode == "out ")
            {
                Line($"{parameter.Split(' ')[^1]} = default;");
            }
        }

        Line(method.IsIterator ? "if (!Support.Step()) yield break;" : $"if (!Support.Step()) return{(method.Result is null ? "" : " default")};");
        (List<Variable> before, Kind? resultBefore, bool yieldsBefore, int loopsBefore) = (_variables, _result, _yields, _loops);
        (_variables, _result, _yields, _loops) = (visible, method.Result, method.IsIterator, 0);
        WriteStatements(statements);
        if (method.IsIterator)
        {
            Line($"yield return {Expression(Kind.Node, 2)};");
        }
        else if (method.Result is { } kind)
        {
            Line($"return {Expression(kind, 3)};");
        }

        (_variables, _result, _yields, _loops) = (before, resultBefore, yieldsBefore, loopsBefore);
        Close();
    }
}
