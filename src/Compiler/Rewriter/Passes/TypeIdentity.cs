using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Type objects. The JIT compares those of class <c>RuntimeType</c> as numbers, and <c>typeof(A) == typeof(B)</c> folds because they have one name for ever. The
/// framework makes those of types with a MethodTable as frozen objects; others (generic parameters, say) by <c>new</c>: they become frozen objects too. That
/// costs 32 bytes each, beside the description of the type, to which such a <c>RuntimeType</c> holds a handle that is never freed.
/// Types of other classes move; <c>Type.op_Equality</c> asks of two such whether they are one object before it calls <c>Equals</c>.
/// </summary>
public sealed class TypeIdentity : IRewritePass
{
    private const string RuntimeType = "System.RuntimeType";
    private const string Type = "System.Type";

    /// <inheritdoc/>
    public string Name => nameof(TypeIdentity);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition constructor = assembly.Method(RuntimeType, ".ctor", "System.Reflection.Runtime.TypeInfos.RuntimeTypeInfo");
        MethodDefinition create = InjectCreate(assembly, constructor);
        foreach ((MethodDefinition method, Instruction site) in Creations(assembly.MethodsOfOthers).ToArray())
        {
            if (((MethodReference)site.Operand).Resolve() != constructor)
            {
                // The compiler makes those of a MethodTable, among its data.
                throw assembly.Unexpected(method, $"types to be made of a RuntimeTypeInfo only ({site})");
            }

            site.OpCode = OpCodes.Call;
            site.Operand = create;
            statistics.Rewrite(method.FullName);
        }

        MethodDefinition equality = assembly.Method(Type, "op_Equality", Type, Type);
        if (equality.Body.Instructions.Where(instruction => instruction.Calls(Type, "Equals")).ToArray() is not [var call])
        {
            throw assembly.Unexpected(equality, "one call of Type.Equals");
        }

        call.OpCode = OpCodes.Call;
        call.Operand = InjectSame(assembly, (MethodReference)call.Operand);
        statistics.Rewrite(equality.FullName);
        return true;
    }

    /// <summary>The instructions that make a <c>RuntimeType</c>.</summary>
    public static IEnumerable<(MethodDefinition Method, Instruction Site)> Creations(IEnumerable<MethodDefinition> methods) =>
        from method in methods
        from instruction in method.Body.Instructions
        where instruction.OpCode.Code == Code.Newobj && ((MethodReference)instruction.Operand).DeclaringType.FullName == RuntimeType
        select (method, instruction);

    /// <summary>Like <c>Type.GetTypeFromMethodTableSlow</c>: <c>FrozenObjectHeapManager.Instance.TryAllocateObject&lt;RuntimeType&gt;()</c>, or no memory.</summary>
    private static MethodDefinition InjectCreate(AssemblyUnderRewrite assembly, MethodDefinition constructor)
    {
        const string Manager = "Internal.Runtime.FrozenObjectHeapManager";
        TypeDefinition type = constructor.DeclaringType;
        GenericInstanceMethod allocate = new(assembly.Method(Manager, "TryAllocateObject", []));
        allocate.GenericArguments.Add(type);

        MethodDefinition create = InjectedRuntime.AddMethod(
            InjectedRuntime.Class(assembly), "NewRuntimeType", MethodAttributes.Assembly, type, constructor.Parameters[0].ParameterType);
        VariableDefinition made = new(type);
        create.Body.Variables.Add(made);
        Instruction construct = Instruction.Create(OpCodes.Ldloc_0);
        create.Body.Append(
            Instruction.Create(OpCodes.Ldsfld, assembly.Field(Manager, "Instance", Manager)),
            Instruction.Create(OpCodes.Callvirt, allocate),
            Instruction.Create(OpCodes.Stloc_0),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Brtrue_S, construct),
            Instruction.Create(OpCodes.Newobj, assembly.Method("System.OutOfMemoryException", ".ctor", [])),
            Instruction.Create(OpCodes.Throw),
            construct,
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Call, constructor),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Ret));
        return create;
    }

    /// <summary><c>bool SameType(Type left, Type right) => IsSameObject(left, right) || left.Equals(right)</c>, for two that are not null and no RuntimeType.</summary>
    private static MethodDefinition InjectSame(AssemblyUnderRewrite assembly, MethodReference equals)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        TypeDefinition type = assembly.Type(Type);
        MethodDefinition same = InjectedRuntime.AddMethod(InjectedRuntime.Class(assembly), "SameType", MethodAttributes.Assembly, types.Boolean, type, type);
        same.ImplAttributes = MethodImplAttributes.NoInlining;
        Instruction ask = Instruction.Create(OpCodes.Ldarg_0);
        same.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Call, InjectedRuntime.IsSame(assembly, "IsSameObject", types.Object)),
            Instruction.Create(OpCodes.Brfalse_S, ask),
            Instruction.Create(OpCodes.Ldc_I4_1),
            Instruction.Create(OpCodes.Ret),
            ask,
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Callvirt, equals),
            Instruction.Create(OpCodes.Ret));
        return same;
    }
}
