using System;
using System.Linq;
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

    /// <summary>Whether <paramref name="method"/> is a <c>CopyTo</c> that may keep its array.</summary>
    public static bool MayKeep(MethodDefinition method) =>
        IsCopyTo(method) && method.HasBody && method.Body.Instructions.Any(instruction => instruction.Operand switch
        {
            FieldReference field => instruction.OpCode.Code is Code.Stfld or Code.Stsfld && MayHold(field.FieldType, field.DeclaringType, null),
            MethodReference called => instruction.OpCode.Code is Code.Call or Code.Callvirt or Code.Newobj && !OnlyFills(called) && Takes(called),
            _ => false,
        });

    private static bool IsCopyTo(MethodDefinition method) =>
        (method.Name == "CopyTo" || method.Name.EndsWith(".CopyTo", StringComparison.Ordinal)) && method.IsVirtual && method.Parameters.Count == 2
        && (method.Parameters[0].ParameterType.IsArray || method.Parameters[0].ParameterType.FullName == ArrayName) && method.Parameters[1].ParameterType.MetadataType == MetadataType.Int32;

    // Those that a CopyTo of the program calls are looked at themselves, if they are collections' too. A span is on the stack.
    private static bool OnlyFills(MethodReference called) =>
        called.Name is "CopyTo" or "ThrowIfNull" or "AsSpan" || called.DeclaringType.FullName is ArrayName or "System.Buffer" or "System.String" or "System.Object"
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
        _ => type.FullName is ArrayName or "System.Object" || type.Namespace.StartsWith("System.Collections", StringComparison.Ordinal)
            || type.GetElementType().FullName is "System.Memory`1" or "System.ReadOnlyMemory`1" or "System.ArraySegment`1",
    };
}
