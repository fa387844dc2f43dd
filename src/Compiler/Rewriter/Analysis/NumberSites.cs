using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Analysis;

/// <summary>
/// The instructions of a method that make a number or a raw pointer of a reference or managed pointer: conversions, <c>Unsafe.AsPointer</c>, references
/// where a parameter, local, field or result is a number, and loads of a number from where a reference is. A stop of the threads makes references current, not
/// numbers: who uses one as an address must hold a pin.
/// </summary>
public static class NumberSites
{
    /// <summary>What the heap's current address of a place is called in rewritten code.</summary>
    public const string CurrentPointer = "CurrentPointer";

    /// <summary>Whether a method may have such an instruction; a look without an analysis.</summary>
    public static bool MayHaveSites(MethodDefinition method) => method.HasBody && method.Body.Instructions.Any(IsCandidate);

    /// <summary>The sites of a method that control can reach, and whether what they convert is known to stay where it is: pinned, or outside the heap.</summary>
    public static IEnumerable<(Instruction Site, bool Stays)> Of(MethodDefinition method)
    {
        HashSet<Instruction> candidates = [.. method.Body.Instructions.Where(IsCandidate)];
        if (candidates.Count == 0)
        {
            yield break;
        }

        StackTypes types = StackTypes.Of(method, candidates.Contains);
        foreach (Instruction candidate in candidates.Where(types.IsReachable))
        {
            // Not what it leads to, but the reference that is there is what becomes a number.
            if (IsLoad(candidate) || IsReinterpretation(candidate))
            {
                yield return (candidate, false);
                continue;
            }

            foreach (StackValue converted in Converted(method, candidate, types.Operands(candidate)))
            {
                yield return (candidate, (converted & StackValue.Pinned) != 0);
            }
        }
    }

    /// <summary>Whether an instruction pushes the number that it makes, so that its way can be followed.</summary>
    public static bool PushesNumber(Instruction site) => IsConversion(site) || IsAsPointer(site) || IsLoad(site);

    private static bool IsCandidate(Instruction instruction) =>
        (IsConversion(instruction) && !FollowsNumber(instruction)) || IsStore(instruction) || (IsLoad(instruction) && LoadsReference(instruction)) || IsAsPointer(instruction) || TakesNumbers(instruction);

    private static bool IsConversion(Instruction instruction) => instruction.OpCode.Code is Code.Conv_U or Code.Conv_I or Code.Conv_U8 or Code.Conv_I8
        or Code.Conv_Ovf_U or Code.Conv_Ovf_I or Code.Conv_Ovf_U8 or Code.Conv_Ovf_I8 or Code.Conv_Ovf_U_Un or Code.Conv_Ovf_I_Un or Code.Conv_Ovf_U8_Un or Code.Conv_Ovf_I8_Un;

    private static bool FollowsNumber(Instruction instruction) =>
        instruction.Previous?.OpCode.Code is >= Code.Ldc_I4_M1 and <= Code.Ldc_R8 or Code.Ldlen or Code.Sizeof or (>= Code.Conv_I1 and <= Code.Conv_U8)
            or Code.Mul or Code.Div or Code.Shl or Code.Shr or Code.Shr_Un;

    private static bool IsStore(Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Stloc or Code.Stloc_S => IsPlainNumber(((VariableDefinition)instruction.Operand).VariableType),
        Code.Starg or Code.Starg_S => IsPlainNumber(((ParameterDefinition)instruction.Operand).ParameterType),
        Code.Stfld or Code.Stsfld => IsPlainNumber(((FieldReference)instruction.Operand).FieldType),
        Code.Stloc_0 or Code.Stloc_1 or Code.Stloc_2 or Code.Stloc_3 or Code.Stind_I or Code.Ret => true,
        _ => false,
    };

    // Loads of what is as wide as a reference.
    private static bool IsLoad(Instruction instruction) =>
        instruction.OpCode.Code is Code.Ldind_I or Code.Ldind_I8 || (instruction.OpCode.Code == Code.Ldobj && IsPlainNumber((TypeReference)instruction.Operand));

    private static bool IsAsPointer(Instruction instruction) =>
        IdentitySites.IsAsPointer(instruction) || (instruction.OpCode.Code == Code.Call && instruction.Operand is MethodReference { Name: CurrentPointer, DeclaringType.Name: InjectedRuntime.ClassName });

    private static bool TakesNumbers(Instruction instruction) =>
        instruction.OpCode.FlowControl == FlowControl.Call && instruction.Operand is IMethodSignature signature
        && (signature.Parameters.Any(parameter => IsPlainNumber(parameter.ParameterType)) || SeesReferenceAsNumber(instruction));

    private static bool IsPlainNumber(TypeReference type)
    {
        while (type is IModifierType modified)
        {
            type = modified.ElementType;
        }

        return type.IsPointer || type.IsFunctionPointer || type.MetadataType is MetadataType.IntPtr or MetadataType.UIntPtr or MetadataType.Int64 or MetadataType.UInt64;
    }

    // Unsafe.As<object, nint>(ref o), unless the number is loaded right there, which is a site of its own; Unsafe.BitCast<object, nint>(o).
    private static bool SeesReferenceAsNumber(Instruction instruction) => IsReinterpretation(instruction) && !(instruction.Next is { } next && IsLoad(next));

    private static bool IsReinterpretation(Instruction instruction) =>
        instruction.OpCode.Code == Code.Call
        && instruction.Operand is GenericInstanceMethod { Name: "As" or "BitCast", GenericArguments: [var from, var to] } called
        && called.DeclaringType.FullName == "System.Runtime.CompilerServices.Unsafe"
        && (ValueKinds.OfSignature(from) & StackValue.AnyObject) != 0
        && IsPlainNumber(to);

    /// <summary>Whether a number is loaded from where a reference is: of a variable, its address taken, or through <c>Unsafe.As</c>.</summary>
    private static bool LoadsReference(Instruction load)
    {
        Instruction address = load.Previous;
        while (address is not null && (address.OpCode.Code is Code.Volatile or Code.Unaligned or Code.Conv_U or Code.Conv_I || IsAsPointer(address)))
        {
            address = address.Previous;
        }

        if (address is null || IsReinterpretation(address))
        {
            return address is not null;
        }

        TypeReference? type = address.OpCode.Code switch
        {
            Code.Ldloca or Code.Ldloca_S => ((VariableDefinition)address.Operand).VariableType,
            Code.Ldarga or Code.Ldarga_S => address.Operand is ParameterDefinition { Index: >= 0 } parameter ? parameter.ParameterType : null,
            Code.Ldflda or Code.Ldsflda => ((FieldReference)address.Operand).FieldType,
            _ => null,
        };
        return type is not null
            && (type.MetadataType == MetadataType.TypedByReference || (ValueKinds.OfSignature(type, address.Operand as MemberReference) & (StackValue.AnyObject | StackValue.Reference)) != 0);
    }

    private static IEnumerable<StackValue> Converted(MethodDefinition method, Instruction site, IReadOnlyList<StackValue> operands)
    {
        if (IsConversion(site) || IsAsPointer(site))
        {
            return operands.Where(IsReference);
        }

        if (site.OpCode.FlowControl == FlowControl.Call)
        {
            var signature = (IMethodSignature)site.Operand;
            int first = operands.Count - signature.Parameters.Count - (site.OpCode.Code == Code.Calli ? 1 : 0);
            return signature.Parameters
                .Select((parameter, i) => IsPlainNumber(parameter.ParameterType) ? operands[first + i] : StackValue.None)
                .Where(IsReference);
        }

        TypeReference? type = site.OpCode.Code switch
        {
            Code.Stloc_0 or Code.Stloc_1 or Code.Stloc_2 or Code.Stloc_3 => method.Body.Variables[site.OpCode.Code - Code.Stloc_0].VariableType,
            Code.Ret => method.ReturnType,
            _ => null,
        };
        return operands.Count > 0 && (type is null || IsPlainNumber(type)) && IsReference(operands[^1]) ? [operands[^1]] : [];
    }

    // Null, literals and the runtime's types have no other name.
    private static bool IsReference(StackValue value) => (value & (StackValue.Reference | StackValue.Object)) != 0;
}
