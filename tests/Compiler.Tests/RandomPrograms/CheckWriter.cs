using System;
using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>Puts a check behind each instruction that pushes a reference, or a structure with references, and turns the calls for deletions into calls of the checker.</summary>
internal sealed class CheckWriter(ModuleDefinition module)
{
    private readonly MethodReference _see = Import(module, nameof(DeletionChecker.See));
    private readonly MethodReference _seeNumber = Import(module, nameof(DeletionChecker.SeeNumber));
    private readonly MethodReference _seeNew = Import(module, nameof(DeletionChecker.SeeNew));
    private readonly MethodReference _keep = Import(module, nameof(DeletionChecker.Keep));

    /// <summary>Changes a method, of which the first variables are its own.</summary>
    public void Write(MethodDefinition method, int variables)
    {
        if (method.Name == "Keep")
        {
            method.ImplAttributes = MethodImplAttributes.IL;
            method.Body = new MethodBody(method);
            ILProcessor il = method.Body.GetILProcessor();
            il.Emit(OpCodes.Ldarg_0);
            il.Emit(OpCodes.Call, _keep);
            il.Emit(OpCodes.Ret);
            return;
        }

        if (!method.HasBody || method.DeclaringType.Name == "Support" || method.Name == "Finalize")
        {
            return;
        }

        method.Body.BeginEdit();
        foreach (Instruction at in method.Body.Instructions.ToArray())
        {
            if (at.Operand is MethodReference { DeclaringType.Name: "CompilerDeletion" } deletion)
            {
                at.Operand = Import(module, deletion.Name);
            }
            else if (Pushed(method, at, variables) is { } type)
            {
                method.Body.InsertAfter(at, [.. ChecksOf(type, at.OpCode.Code == Code.Newobj)]);
            }
        }

        method.Body.EndEdit();
    }

    private static MethodReference Import(ModuleDefinition module, string name) => module.ImportReference(typeof(DeletionChecker).GetMethod(name));

    private IEnumerable<Instruction> ChecksOf(TypeReference type, bool isNew)
    {
        if (type.MetadataType == MetadataType.Int32)
        {
            return [Instruction.Create(OpCodes.Dup), Instruction.Create(OpCodes.Call, _seeNumber)];
        }

        List<Instruction> checks = [Instruction.Create(OpCodes.Dup)];
        if (type is GenericParameter || IsStructure(type))
        {
            checks.Add(Instruction.Create(OpCodes.Box, type));
        }

        checks.Add(Instruction.Create(OpCodes.Call, _see));
        if (isNew && !IsStructure(type))
        {
            checks.AddRange([Instruction.Create(OpCodes.Dup), Instruction.Create(OpCodes.Call, _seeNew)]);
        }

        return checks;
    }

    private bool IsStructure(TypeReference type) => type is not (ArrayType or GenericParameter) && (type.IsValueType || (type.Scope == module && type.Resolve() is { IsValueType: true }));

    /// <summary>The type of what is pushed, if it is to be looked at.</summary>
    private TypeReference? Pushed(MethodDefinition method, Instruction at, int variables)
    {
        if (at.Next?.OpCode.Code is Code.Initobj)
        {
            return null;
        }

        TypeReference? type = null;
        switch (at.OpCode.Code)
        {
            case Code.Ldloc or Code.Ldloc_S or Code.Ldloc_0 or Code.Ldloc_1 or Code.Ldloc_2 or Code.Ldloc_3:
                VariableDefinition local = at.Operand as VariableDefinition ?? method.Body.Variables[at.OpCode.Code - Code.Ldloc_0];
                type = local.Index < variables ? local.VariableType : null;
                break;
            case Code.Ldarg or Code.Ldarg_S or Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3:
                int index = (at.Operand as ParameterDefinition)?.Index ?? (at.OpCode.Code - Code.Ldarg_0 - (method.HasThis ? 1 : 0));
                // Before the constructor of the base, this has not been made.
                bool isSeenLater = method.DeclaringType.IsValueType || method.IsConstructor;
                type = index >= 0 ? method.Parameters[index].ParameterType : isSeenLater ? null : method.DeclaringType.HasGenericParameters ? module.TypeSystem.Object : method.DeclaringType;
                break;
            case Code.Ldfld or Code.Ldsfld:
                FieldReference field = (FieldReference)at.Operand;
                type = Inflated(field.FieldType, null, field.DeclaringType as GenericInstanceType);
                break;
            case Code.Ldelem_Ref or Code.Ldind_Ref or Code.Newarr:
                type = module.TypeSystem.Object;
                break;
            case Code.Ldind_I4 or Code.Ldelem_I4:
                type = module.TypeSystem.Int32;
                break;
            case Code.Ldelem_Any or Code.Ldobj or Code.Unbox_Any:
                type = (TypeReference)at.Operand;
                break;
            case Code.Newobj:
                type = ((MethodReference)at.Operand).DeclaringType;
                break;
            case Code.Call or Code.Callvirt:
                MethodReference called = (MethodReference)at.Operand;
                type = Inflated(called.ReturnType, called as GenericInstanceMethod, called.DeclaringType as GenericInstanceType);
                break;
        }

        type = type is IModifierType modified ? modified.ElementType : type is PinnedType ? null : type;
        bool isSeen = type is not (null or ByReferenceType or PointerType or FunctionPointerType) && type.MetadataType is not MetadataType.Void
            && (type.MetadataType == MetadataType.Int32 || !type.IsPrimitive) && !IsByRefLike(type);
        return isSeen ? type : null;
    }

    // Of the framework, as far as the programs use them.
    private static bool IsByRefLike(TypeReference type) => type.Name is "Span`1" or "ReadOnlySpan`1" or "DefaultInterpolatedStringHandler" or "RuntimeTypeHandle" or "RuntimeFieldHandle";

    private static TypeReference Inflated(TypeReference type, GenericInstanceMethod? method, GenericInstanceType? declaring)
    {
        switch (type)
        {
            case GenericParameter parameter:
                IGenericInstance? owner = parameter.Type == GenericParameterType.Method ? method : declaring;
                return owner is null ? type : owner.GenericArguments[parameter.Position];
            case ArrayType array:
                return new ArrayType(Inflated(array.ElementType, method, declaring));
            case ByReferenceType:
                return type;
            case GenericInstanceType generic:
                GenericInstanceType inflated = new(generic.ElementType);
                foreach (TypeReference argument in generic.GenericArguments)
                {
                    inflated.GenericArguments.Add(Inflated(argument, method, declaring));
                }

                return inflated;
            default:
                return type;
        }
    }
}
