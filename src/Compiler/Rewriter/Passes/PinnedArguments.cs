using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>Methods that hold their arguments in pinned locals around a native call. TouchBeforePin completes the pins.</summary>
internal static class PinnedArguments
{
    /// <summary>A static method of the type, with an empty body to fill and parameters of these types. Stack traces stay those of the source: it is hidden in them.</summary>
    public static MethodDefinition AddMethod(TypeDefinition owner, string purpose, TypeReference returns, IEnumerable<ParameterDefinition> parameters)
    {
        MethodDefinition method = InjectedRuntime.AddMethod(
            owner, $"<native>{purpose}.{owner.Methods.Count}", MethodAttributes.Private, returns, [.. parameters.Select(parameter => parameter.ParameterType)]);
        method.CustomAttributes.Add(InjectedRuntime.HiddenInStackTraces(owner.Module));
        return method;
    }

    /// <summary>Those of the arguments that need it into pinned locals, then all of them onto the stack.</summary>
    public static void Append(MethodDefinition method, IEnumerable<ParameterDefinition> arguments, Func<ParameterDefinition, bool> needsPin)
    {
        ParameterDefinition[] all = [.. arguments];
        Dictionary<ParameterDefinition, VariableDefinition> pinned = [];
        foreach (ParameterDefinition parameter in all.Where(needsPin))
        {
            VariableDefinition local = new(new PinnedType(WithoutModifiers(parameter.ParameterType)));
            method.Body.Variables.Add(local);
            method.Body.Append(Instruction.Create(OpCodes.Ldarg, parameter), Instruction.Create(OpCodes.Stloc, local));
            pinned.Add(parameter, local);
        }

        foreach (ParameterDefinition parameter in all)
        {
            method.Body.Append(pinned.TryGetValue(parameter, out VariableDefinition? local)
                ? Instruction.Create(OpCodes.Ldloc, local)
                : Instruction.Create(OpCodes.Ldarg, parameter));
        }

        method.Body.EndEdit();
    }

    /// <summary>Turns a call into one of a static method of the same type, which has the generic parameters of the caller or none.</summary>
    public static void Call(Instruction call, MethodDefinition method)
    {
        MethodReference called = method.DeclaringType.HasGenericParameters ? InOwnType(method) : method;
        if (method.HasGenericParameters)
        {
            GenericInstanceMethod instance = new(called);
            foreach (GenericParameter parameter in method.GenericParameters)
            {
                instance.GenericArguments.Add(parameter);
            }

            called = instance;
        }

        call.OpCode = OpCodes.Call;
        call.Operand = called;
    }

    /// <summary>The type that optional and required modifiers are put on.</summary>
    public static TypeReference WithoutModifiers(TypeReference type)
    {
        while (type is IModifierType modified)
        {
            type = modified.ElementType;
        }

        return type;
    }

    private static MethodReference InOwnType(MethodDefinition method)
    {
        GenericInstanceType owner = new(method.DeclaringType);
        foreach (GenericParameter parameter in method.DeclaringType.GenericParameters)
        {
            owner.GenericArguments.Add(parameter);
        }

        MethodReference reference = new(method.Name, method.ReturnType, owner) { HasThis = false };
        foreach (GenericParameter parameter in method.GenericParameters)
        {
            reference.GenericParameters.Add(new GenericParameter(parameter.Name, reference));
        }

        foreach (ParameterDefinition parameter in method.Parameters)
        {
            reference.Parameters.Add(new ParameterDefinition(parameter.ParameterType));
        }

        return reference;
    }
}
