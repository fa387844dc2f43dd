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
    public int Version => 2;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition constructor = assembly.Method(RuntimeType, ".ctor", "System.Reflection.Runtime.TypeInfos.RuntimeTypeInfo");
        MethodDefinition create = assembly.Injected.Method(InjectedRuntime.FullName, "NewRuntimeType");
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
        call.Operand = assembly.Injected.Method(InjectedRuntime.FullName, "SameType");
        statistics.Rewrite(equality.FullName);
        return true;
    }

    /// <summary>The instructions that make a <c>RuntimeType</c>.</summary>
    public static IEnumerable<(MethodDefinition Method, Instruction Site)> Creations(IEnumerable<MethodDefinition> methods) =>
        from method in methods
        from instruction in method.Body.Instructions
        where instruction.OpCode.Code == Code.Newobj && ((MethodReference)instruction.Operand).DeclaringType.FullName == RuntimeType
        select (method, instruction);
}
