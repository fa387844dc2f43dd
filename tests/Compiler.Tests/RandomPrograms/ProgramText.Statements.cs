using System.Collections.Generic;
using System.Linq;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>The statements of a random program.</summary>
internal sealed partial class ProgramText
{
    private const int MostLoops = 2;

    private void WriteStatements(int count)
    {
        for (int i = 0; i < count; i++)
        {
            for (int tries = 0; tries < 20 && !WriteStatement(count / 2); tries++)
            {
            }

            Declare();
        }
    }

    // Variables of the block end with it.
    private void WriteBlock(string head, int statements, params Variable[] more)
    {
        List<Variable> before = _variables;
        _variables = [.. before, .. more];
        Open(head);
        WriteStatements(statements);
        Close();
        _variables = before;
    }

    private void Declare()
    {
        _variables = [.. _variables, .. _declared];
        _declared.Clear();
    }

    private bool WriteStatement(int inner)
    {
        switch (_random.Next(30))
        {
            case 0 or 1 or 2 or 3:
                Kind kind = OneOf(Kinds());
                string name = NewName("v");
                Line($"{TypeOf(kind)} {name} = {Expression(kind, 3)};");
                _declared.Add(new Variable(name, kind));
                return true;
            case 4 or 5:
                Kind set = OneOf(Kinds());
                return Some(set, canBeSet: true) is { } variable && Write($"{variable} = {Expression(set, 3)};");
            case 6 or 7 or 8:
                Variable field = OneOf(_nodeFields);
                return Some(Kind.Node) is { } node && Write($"if ({node} != null) {node}.{field.Name} = {Expression(field.Kind, 2)};");
            case 9 or 10:
                return Called(_methods.Skip(_callable).Where(method => !method.IsIterator), 2, declares: true) is { } call && Write($"{call};");
            case 11 when _virtuals.Count > 0:
                return Write($"{Receiver(1)}.{Called(_virtuals, 2, declares: true)};");
            case 12:
                return _instance.Count > 0 && Write($"{Receiver(1)}.{Called(_instance, 2, declares: true)};");
            case 13 when inner > 0:
                WriteBlock("if (Support.Choose(2) == 0)", inner);
                if (Chance(0.4))
                {
                    WriteBlock("else", inner);
                }

                return true;
            case 14 when inner > 0 && Has("loop") && _loops < MostLoops:
                _loops++;
                string counter = NewName("i");
                WriteBlock($"for (int {counter} = Support.Choose(3); {counter} < 3 && Support.Step(); {counter}++)", inner);
                _loops--;
                return true;
            case 15 when inner > 0 && Has("array") && _loops < MostLoops:
                _loops++;
                string item = NewName("n");
                WriteBlock($"foreach (Node {item} in {Expression(Kind.Nodes, 2)} ?? new Node[0])", inner, new Variable(item, Kind.Node, CanBeSet: false));
                _loops--;
                return true;
            case 16 when inner > 0 && Has("iterator") && _loops < MostLoops && _methods.Skip(_callable).Where(method => method.IsIterator).ToArray() is { Length: > 0 } iterators:
                _loops++;
                string each = NewName("n");
                WriteBlock($"foreach (Node {each} in {Called([OneOf(iterators)], 2)})", inner, new Variable(each, Kind.Node, CanBeSet: false));
                _loops--;
                return true;
            case 17 when inner > 0 && (Has("throw") || Has("finally")) && !_yields:
                WriteTry(inner);
                return true;
            case 18 when Has("throw") && !_yields:
                return Write($"if (Support.Choose(6) == 0) throw new Failure({Expression(Kind.Node, 2)});");
            case 19 when _loops > 0 || _result is not null || _yields:
                return _loops > 0 && Chance(0.4) ? Write($"if (Support.Choose(4) == 0) {OneOf(["break", "continue"])};")
                    : _yields ? Write($"yield return {Expression(Kind.Node, 2)};")
                    : _result is { } result && Write($"if (Support.Choose(4) == 0) return {Expression(result, 2)};");
            case 20:
                return Write($"Support.Use({Expression(Chance(0.6) ? Kind.Node : OneOf(Kinds()), 2)});");
            case 21 when Has("ref") && !_yields && !_isLambda:
                return WriteReference();
            case 22 when Has("span") && Has("array") && !_yields:
                return WriteSpan();
            case 23 when Has("local") && inner > 0:
                return WriteLocalFunction(inner);
            case 24 when Has("interface"):
                return Write($"{Expression(Kind.Thing, 2)}.Put({Expression(Kind.Object, 2)});");
            case 25:
                return WriteRare();
            case 26 when Has("list") && Some(Kind.List) is { } list:
                return Write(OneOf(
                [
                    $"if ({list} != null) {list}.Add({Expression(Kind.Node, 2)});",
                    $"if ({list} is {{ Count: > 0 }}) {list}[0] = {Expression(Kind.Node, 2)};",
                    $"{list}?.Reverse();",
                    $"if ({list} != null) {list}.AddRange({Expression(Kind.List, 1)} ?? []);",
                ]));
            case 27 when Has("cell") && Some(Kind.Cell) is { } cell:
                return Write(OneOf(
                [
                    $"if ({cell} != null) {cell}.Value = {Expression(Kind.Node, 2)};",
                    $"{cell}?.Add({Expression(Kind.Node, 2)});",
                    Some(Kind.Node, canBeSet: true) is { } other ? $"{cell}?.Swap(ref {other});" : ";",
                    $"if ({cell} != null) {cell}.Other = {Expression(Kind.Object, 2)};",
                ]));
            case 28 when Has("array"):
                return Write($"Set({Expression(Kind.Nodes, 2)}, {Expression(Kind.Node, 2)});");
            case 29 when Has("pair") && Some(Kind.Pair, canBeSet: true) is { } pair:
                return Write(OneOf([$"{pair}.A = {Expression(Kind.Node, 2)};", $"{pair}.O = {Expression(Kind.Object, 2)};", $"{pair}.Change({Expression(_changes, 2)});", $"{pair}.Link();"]));
            default:
                return false;
        }
    }

    private bool Write(string line)
    {
        Line(line);
        return true;
    }

    private void WriteTry(int inner)
    {
        // A jump out of a finally block is an error.
        WriteBlock("try", inner);
        if (Has("throw") || !Has("finally"))
        {
            string caught = NewName("e");
            WriteBlock($"catch (Failure {caught})", inner, new Variable($"{caught}.Load", Kind.Node));
            if (Chance(0.3))
            {
                WriteBlock("catch (Exception)", inner);
            }
        }

        if (Has("finally"))
        {
            (Kind? result, int loops, bool yields) = (_result, _loops, _yields);
            (_result, _loops, _yields) = (null, 0, false);
            WriteBlock("finally", inner);
            (_result, _loops, _yields) = (result, loops, yields);
        }
    }

    private bool WriteReference()
    {
        string name = NewName("r");
        string? place = _random.Next(4) switch
        {
            0 when Some(Kind.Node) is { } node => $"{node}.{_nodeFields[0].Name}",
            1 when Has("array") && Some(Kind.Nodes) is { } nodes => $"{nodes}[0]",
            2 when Has("cell") && Some(Kind.Cell) is { } cell => $"{cell}.Value",
            3 when Some(Kind.Node, canBeSet: true) is { } local => local,
            _ => null,
        };
        if (place is null)
        {
            return false;
        }

        Line($"ref Node {name} = ref {place};");
        _declared.Add(new Variable(name, Kind.Node, CanBeCaptured: false));
        return true;
    }

    private bool WriteSpan()
    {
        string name = NewName("s");
        Line($"Span<Node> {name} = {Expression(Kind.Nodes, 2)};");
        Line($"if ({name}.Length > 1) {name}[1] = {Expression(Kind.Node, 2)};");
        string item = NewName("v");
        Line($"Node {item} = {name}.Length > 0 ? {name}[{OneOf(["0", "^1"])}] : null;");
        if (Has("list") && Some(Kind.List) is { } list && Chance(0.5))
        {
            Line($"{name} = CollectionsMarshal.AsSpan({list});");
        }

        if (Chance(0.4))
        {
            Line($"{name}.CopyTo({Expression(Kind.Nodes, 1)});");
        }

        Line($"Support.Use({name}.Length > 0 ? {name}[0] : null);");
        _declared.Add(new Variable(item, Kind.Node));
        return true;
    }

    private bool WriteLocalFunction(int inner)
    {
        string name = NewName("L"), parameter = NewName("p");
        (List<Variable> before, Kind? result, bool yields, int loops) = (_variables, _result, _yields, _loops);
        (_result, _yields, _loops) = (Kind.Node, false, 0);
        _variables = [.. before.Where(variable => variable.CanBeCaptured)];
        WriteBlock($"Node {name}(Node {parameter})", inner, new Variable(parameter, Kind.Node));
        // The end of the block has no return.
        _text.Length -= (4 * _indent) + 2;
        _indent++;
        Line($"return {Expression(Kind.Node, 2)};");
        Close();
        (_variables, _result, _yields, _loops) = (before, result, yields, loops);
        Line($"{(Some(Kind.Node, canBeSet: true) is { } to && Chance(0.5) ? $"{to} = " : "")}{name}({Expression(Kind.Node, 2)});");
        return true;
    }

    private bool WriteRare()
    {
        switch (_random.Next(9))
        {
            case 0 when Has("unknown"):
                return Write(Chance(0.5) ? $"Support.Keep({Expression(Kind.Object, 2)});" : $"unsafe {{ delegate*<object, void> f = &Publish; f({Expression(Kind.Object, 2)}); }}");
            case 1 when Has("unknown"):
                return Write("Support.Use(s_published);");
            case 2 when Has("fixed") && !_yields:
                string numbers = NewName("a"), address = NewName("x");
                Line($"int[] {numbers} = [5, Support.Choose(4)]; long {address};");
                Open($"unsafe {{ fixed (int* q = {numbers})");
                Line($"{address} = (long)q;");
                Line("Support.Use(null);");
                Line($"Support.Choose(1 + (*(int*){address} & 3));");
                Close("} }");
                return true;
            case 3 when Has("texts"):
                return Write($"s_texts[Support.Choose(4)] = {Expression(Kind.Text, 2)};");
            case 4 when Has("generic") && Some(Kind.Node, canBeSet: true) is { } one && Some(Kind.Node, canBeSet: true) is { } two:
                return Write($"Exchange(ref {one}, ref {two});");
            case 5 when Has("resize") && Has("array") && Some(Kind.Nodes, canBeSet: true) is { } resized:
                return Write($"Array.Resize(ref {resized}, 1 + Support.Choose(3));");
            case 6 when Has("copy") && Has("array") && Some(Kind.Nodes) is { } from && Some(Kind.Nodes) is { } to:
                return Write($"if ({from} != null && {to} != null) Array.Copy({from}, {to}, Math.Min({from}.Length, {to}.Length));");
            case 7 when Has("lambda") && Captured() is { } captured:
                string action = NewName("f");
                Line($"Action {action} = () => {{ if ({captured} != null) {captured}.Next = {LambdaBody()}; }};");
                return Write($"{action}();");
            case 8 when Has("atomic") && Some(Kind.Node) is { } node:
                return Write($"if ({node} != null) Interlocked.CompareExchange(ref {node}.Next, {Expression(Kind.Node, 2)}, null);");
            default:
                return false;
        }
    }

    private string? Captured()
    {
        bool lambda = _isLambda;
        _isLambda = true;
        string? name = Some(Kind.Node, canBeSet: true);
        _isLambda = lambda;
        return name;
    }

    private string LambdaBody()
    {
        (List<Variable> before, bool lambda) = (_variables, _isLambda);
        _variables = [.. before.Where(variable => variable.CanBeCaptured)];
        _isLambda = true;
        string body = Expression(Kind.Node, 2);
        (_variables, _isLambda) = (before, lambda);
        return body;
    }
}
