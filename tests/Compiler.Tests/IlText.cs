using System.Collections.Generic;
using System.Linq;
using System.Text;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Compiler.Tests;

/// <summary>A method's IL as text: one instruction a line, labels only where something refers to them, handlers and locals first.</summary>
public static class IlText
{
    /// <summary>Formats one method.</summary>
    public static string Format(MethodDefinition method)
    {
        StringBuilder text = new();
        text.AppendLine(method.FullName);
        foreach (CustomAttribute attribute in method.CustomAttributes.Where(attribute => attribute.AttributeType.Name is "RuntimeImportAttribute" or "RuntimeExportAttribute"))
        {
            text.AppendLine($"  [{attribute.AttributeType.Name}({string.Join(", ", attribute.ConstructorArguments.Select(argument => argument.Value))})]");
        }

        if (!method.HasBody)
        {
            string native = method.HasPInvokeInfo ? $"  {method.PInvokeInfo.Module.Name} {method.PInvokeInfo.EntryPoint} {method.PInvokeInfo.Attributes}" : "";
            return text.AppendLine($"  {method.ImplAttributes}{native}").ToString();
        }

        if (method.AggressiveInlining || method.NoInlining)
        {
            text.AppendLine($"  [{(method.AggressiveInlining ? "AggressiveInlining" : "NoInlining")}]");
        }

        foreach (VariableDefinition variable in method.Body.Variables)
        {
            text.AppendLine($"  local {variable.Index}: {variable.VariableType.FullName}");
        }

        IList<Instruction> code = method.Body.Instructions;
        HashSet<Instruction> targets = [.. Targets(method.Body)];
        Dictionary<Instruction, string> labels = code.Where(targets.Contains).Select((instruction, index) => (instruction, index)).ToDictionary(pair => pair.instruction, pair => $"L{pair.index}");
        foreach (ExceptionHandler handler in method.Body.ExceptionHandlers)
        {
            text.AppendLine($"  {handler.HandlerType} {handler.CatchType?.FullName}try {labels[handler.TryStart]}..{labels[handler.TryEnd]} handler {labels[handler.HandlerStart]}..{(handler.HandlerEnd is null ? "end" : labels[handler.HandlerEnd])}");
        }

        foreach (Instruction instruction in code)
        {
            string label = labels.TryGetValue(instruction, out string? name) ? name + ":" : "";
            text.AppendLine($"  {label,-5}{instruction.OpCode.Name} {Operand(instruction.Operand, labels)}".TrimEnd());
        }

        return text.ToString();
    }

    private static string Operand(object? operand, Dictionary<Instruction, string> labels) => operand switch
    {
        null => "",
        Instruction target => labels[target],
        Instruction[] table => string.Join(", ", table.Select(target => labels[target])),
        MemberReference member => member.FullName,
        VariableDefinition variable => variable.Index.ToString(System.Globalization.CultureInfo.InvariantCulture),
        ParameterDefinition parameter => parameter.Name,
        _ => System.Convert.ToString(operand, System.Globalization.CultureInfo.InvariantCulture)!,
    };

    private static IEnumerable<Instruction> Targets(MethodBody body)
    {
        foreach (Instruction instruction in body.Instructions)
        {
            foreach (Instruction target in instruction.Operand switch { Instruction one => [one], Instruction[] many => many, _ => [] })
            {
                yield return target;
            }
        }

        foreach (ExceptionHandler handler in body.ExceptionHandlers)
        {
            yield return handler.TryStart;
            yield return handler.TryEnd;
            yield return handler.HandlerStart;
            if (handler.HandlerEnd is not null)
            {
                yield return handler.HandlerEnd;
            }
        }
    }
}
