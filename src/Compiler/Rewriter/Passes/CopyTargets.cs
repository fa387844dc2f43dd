using System;
using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Escape;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Whether a program's <c>CopyTo</c> may keep the array that it is to fill. Collections of the framework that are made of another one, or get what is in it, let it fill their own array. What
/// fills it with elements, or gives it to <c>Array</c> or another <c>CopyTo</c>, does not keep it; one that is seen to store an array, or to give one to other code, may.
/// </summary>
internal static class CopyTargets
{
    private const string ArrayName = "System.Array";
    private const string CopyTo = "CopyTo";

    /// <summary>Whether <paramref name="method"/> is a <c>CopyTo</c> that may keep its array.</summary>
    public static bool MayKeep(MethodDefinition method) =>
        IsCopyTo(method) && method.HasBody && method.Body.Instructions.Any(instruction => instruction.OpCode.Code switch
        {
            Code.Stfld or Code.Stsfld => instruction.Operand is FieldReference field && MayHold(field.FieldType, field.DeclaringType, null) || StoresArray(method, instruction, []),
            Code.Stelem_Ref or Code.Stelem_Any or Code.Stind_Ref or Code.Stobj => StoresArray(method, instruction, []),
            Code.Call or Code.Callvirt when instruction.Calls(ArrayName, "SetValue") => SetsArray(method, instruction),
            Code.Call or Code.Callvirt or Code.Newobj => instruction.Operand is MethodReference called && !OnlyFills(called) && Takes(called),
            Code.Calli => true,
            _ => false,
        });

    // Of any form, as one may call another; in other languages than C# it may have another name than what it implements.
    private static bool IsCopyTo(MethodDefinition method) =>
        (method.Name == CopyTo || method.Name.EndsWith(".CopyTo", StringComparison.Ordinal) || method.Overrides.Any(implemented => implemented.Name == CopyTo)) && method.Parameters.Any(IsArray);

    private static bool IsArray(ParameterDefinition parameter) => parameter.ParameterType.IsArray || parameter.ParameterType.FullName == ArrayName;

    // Whether the value that an instruction stores may be an array that the method was given: its top operand, by what pushed it. Where paths join, it may be anything.
    private static bool StoresArray(MethodDefinition method, Instruction store, HashSet<Instruction> seen)
    {
        if (!seen.Add(store))
        {
            return false;
        }

        if (IsTarget(method, store) || store.Previous is not { } source)
        {
            return true;
        }

        switch (source.OpCode.Code)
        {
            case Code.Nop or Code.Castclass or Code.Isinst or Code.Unbox_Any or Code.Dup or Code.Volatile or Code.Unaligned:
                return StoresArray(method, source, seen);
            case Code.Ldarg or Code.Ldarg_S or (>= Code.Ldarg_0 and <= Code.Ldarg_3):
                int first = method.HasThis ? 1 : 0;
                int argument = IlSlots.ArgumentOf(method, source) ?? 0;
                return (argument >= first && IsArray(method.Parameters[argument - first]))
                    || Stores(method, Code.Starg, Code.Starg_S).Any(other => IlSlots.ArgumentOf(method, other) == argument && StoresArray(method, other, seen));
            case Code.Ldloc or Code.Ldloc_S or (>= Code.Ldloc_0 and <= Code.Ldloc_3):
                VariableDefinition? local = IlSlots.LocalOf(method.Body, source);
                return Stores(method, Code.Stloc, Code.Stloc_S, Code.Stloc_0, Code.Stloc_1, Code.Stloc_2, Code.Stloc_3).Any(other => IlSlots.LocalOf(method.Body, other) == local && StoresArray(method, other, seen));
            default:
                return source.OpCode.FlowControl is not (FlowControl.Next or FlowControl.Call);
        }
    }

    private static IEnumerable<Instruction> Stores(MethodDefinition method, params Code[] codes) => method.Body.Instructions.Where(instruction => codes.Contains(instruction.OpCode.Code));

    private static bool IsTarget(MethodDefinition method, Instruction instruction) => method.Body.Instructions.Any(branch => branch.Operand switch
    {
        Instruction target => target == instruction,
        Instruction[] targets => targets.Contains(instruction),
        _ => false,
    });

    // Array.SetValue: its value is below one index or array of indexes. What is not a plain expression may have pushed anything.
    private static bool SetsArray(MethodDefinition method, Instruction call)
    {
        int above = 1;
        Instruction? at = call;
        while (above > 0)
        {
            at = at.Previous;
            if (at is null || at.OpCode.FlowControl != FlowControl.Next || IsTarget(method, at))
            {
                return true;
            }

            above -= at.OpCode.StackBehaviourPush == StackBehaviour.Push0 ? 0 : at.OpCode.StackBehaviourPush == StackBehaviour.Push1_push1 ? 2 : 1;
            above += at.OpCode.StackBehaviourPop switch
            {
                StackBehaviour.Pop0 => 0,
                StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
                StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
                _ => 3,
            };
        }

        return above < 0 || StoresArray(method, at, []);
    }

    // Those that a CopyTo of the program calls are looked at themselves, if they are collections' too. A span is on the stack.
    private static bool OnlyFills(MethodReference called) =>
        called.Name is "ThrowIfNull" or "AsSpan"
        || (called.Name == CopyTo && called.Parameters.All(parameter => IsArray(parameter) || !MayHold(parameter.ParameterType, called.DeclaringType, called)))
        || (called.DeclaringType.FullName == ArrayName && called.Name is not ("AsReadOnly" or "Fill"))
        || called.DeclaringType.FullName is "System.Buffer" or "System.String" or "System.Object"
        || called.DeclaringType.GetElementType().FullName is "System.Span`1" or "System.ReadOnlySpan`1";

    private static bool Takes(MethodReference called) => called.Parameters.Any(parameter => MayHold(parameter.ParameterType, called.DeclaringType, called));

    private static bool MayHold(TypeReference type, TypeReference declaring, MethodReference? method) => type switch
    {
        ArrayType => true,
        ByReferenceType reference => MayHold(reference.ElementType, declaring, method),
        GenericParameter { Type: GenericParameterType.Method } parameter =>
            method is GenericInstanceMethod instance && MayHold(instance.GenericArguments[parameter.Position], declaring, null),
        GenericParameter parameter => declaring is GenericInstanceType instance && instance.GenericArguments[parameter.Position] is not GenericParameter
            && MayHold(instance.GenericArguments[parameter.Position], instance.GenericArguments[parameter.Position], null),
        _ => type.FullName is ArrayName or "System.Object" or "System.ICloneable" || type.Namespace.StartsWith("System.Collections", StringComparison.Ordinal)
            || type.GetElementType().FullName is "System.Memory`1" or "System.ReadOnlyMemory`1" or "System.ArraySegment`1",
    };
}
