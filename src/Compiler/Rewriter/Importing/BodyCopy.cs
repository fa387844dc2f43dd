using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Importing;

/// <summary>Copies the body of one method into another, whose references are the target's.</summary>
internal sealed class BodyCopy(ReferenceMap map, MethodDefinition source, MethodDefinition target)
{
    private static readonly Dictionary<string, OpCode> s_opCodes = typeof(OpCodes).GetFields()
        .Select(field => (OpCode)field.GetValue(null)!).ToDictionary(code => code.Name, StringComparer.Ordinal);

    private readonly Dictionary<Instruction, Instruction> _copies = [];
    private readonly List<Instruction> _dropped = [];

    /// <summary>Copies into the target, whose body must be empty.</summary>
    public void Run()
    {
        MethodBody body = target.Body;
        body.InitLocals = source.Body.InitLocals;
        foreach (VariableDefinition variable in source.Body.Variables)
        {
            body.Variables.Add(new VariableDefinition(map.Type(variable.VariableType)));
        }

        foreach (Instruction instruction in source.Body.Instructions)
        {
            if (IntrinsicOf(instruction) is { } name)
            {
                Emit(instruction, name.Length == 0 ? null : Instruction.Create(s_opCodes[name]));
                continue;
            }

            Instruction copy = Instruction.Create(OpCodes.Nop);
            (copy.OpCode, copy.Operand) = (instruction.OpCode, Operand(instruction.Operand));
            if (copy.OpCode.Code == Code.Callvirt && copy.Operand is MethodReference { Name: ".ctor" })
            {
                // A constructor that is declared under another name, so that C# can call it for memory that is there already.
                copy.OpCode = OpCodes.Call;
            }

            Emit(instruction, copy);
        }

        foreach (Instruction copy in body.Instructions)
        {
            copy.Operand = copy.Operand switch
            {
                Instruction branch => _copies[branch],
                Instruction[] table => table.Select(branch => _copies[branch]).ToArray(),
                _ => copy.Operand,
            };
        }

        foreach (ExceptionHandler handler in source.Body.ExceptionHandlers)
        {
            body.ExceptionHandlers.Add(new ExceptionHandler(handler.HandlerType)
            {
                CatchType = handler.CatchType is null ? null : map.Type(handler.CatchType),
                TryStart = _copies[handler.TryStart],
                TryEnd = _copies[handler.TryEnd],
                FilterStart = handler.FilterStart is null ? null : _copies[handler.FilterStart],
                HandlerStart = _copies[handler.HandlerStart],
                HandlerEnd = handler.HandlerEnd is null ? null : _copies[handler.HandlerEnd],
            });
        }
    }

    private static string? IntrinsicOf(Instruction instruction) =>
        instruction.OpCode.Code == Code.Call && instruction.Operand is MethodReference { DeclaringType: TypeDefinition } called && called.Resolve() is { } method
            ? ImportSource.InstructionOf(method)
            : null;

    // Who leads to what was dropped leads to what follows it.
    private void Emit(Instruction instruction, Instruction? copy)
    {
        _dropped.Add(instruction);
        if (copy is not null)
        {
            _dropped.ForEach(dropped => _copies[dropped] = copy);
            _dropped.Clear();
            target.Body.Instructions.Add(copy);
        }
    }

    private object? Operand(object? operand) => operand switch
    {
        TypeReference type => map.Type(type),
        MethodReference method => map.Method(method),
        FieldReference field => map.Field(field),
        VariableDefinition variable => target.Body.Variables[variable.Index],
        ParameterDefinition parameter => parameter == source.Body.ThisParameter ? target.Body.ThisParameter : target.Parameters[parameter.Index],
        CallSite => throw map.Missing(source.FullName, "no calls of function pointers"),
        _ => operand,
    };
}
