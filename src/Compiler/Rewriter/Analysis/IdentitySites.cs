using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Analysis;

/// <summary>The instructions whose result depends on which name of an object they are given: comparisons, subtractions, and calls of methods that the JIT expands to these.</summary>
public static class IdentitySites
{
    /// <summary>The class whose methods compare, subtract and convert references.</summary>
    public const string Unsafe = "System.Runtime.CompilerServices.Unsafe";

    /// <summary>Whether the instruction is one of them.</summary>
    public static bool IsSite(Instruction instruction) => IsComparison(instruction) || IsSubtraction(instruction) || IsCall(instruction);

    /// <summary>Whether the instruction compares two values that may be references: most comparisons are with a number that is written before them.</summary>
    public static bool IsComparison(Instruction instruction) => !FollowsNumber(instruction) && instruction.OpCode.Code is Code.Ceq or Code.Clt_Un or Code.Cgt_Un or Code.Clt or Code.Cgt
        or Code.Beq or Code.Beq_S or Code.Bne_Un or Code.Bne_Un_S
        or Code.Blt_Un or Code.Blt_Un_S or Code.Bgt_Un or Code.Bgt_Un_S or Code.Ble_Un or Code.Ble_Un_S or Code.Bge_Un or Code.Bge_Un_S
        or Code.Blt or Code.Blt_S or Code.Bgt or Code.Bgt_S or Code.Ble or Code.Ble_S or Code.Bge or Code.Bge_S;

    /// <summary>Whether the instruction subtracts what may be a reference.</summary>
    public static bool IsSubtraction(Instruction instruction) => !FollowsNumber(instruction) && instruction.OpCode.Code is Code.Sub or Code.Sub_Ovf or Code.Sub_Ovf_Un;

    /// <summary><c>object.ReferenceEquals</c>.</summary>
    public static bool IsReferenceEquals(Instruction instruction) =>
        instruction.OpCode.Code == Code.Call && instruction.Operand is MethodReference { Name: "ReferenceEquals" } called && called.DeclaringType.FullName == "System.Object";

    /// <summary>The method of <c>Unsafe</c> that compares or subtracts two references; null when the instruction calls none.</summary>
    public static string? UnsafeComparison(Instruction instruction) =>
        instruction.OpCode.Code == Code.Call && instruction.Operand is MethodReference
        {
            Name: "AreSame" or "IsAddressLessThan" or "IsAddressGreaterThan" or "IsAddressLessThanOrEqualTo" or "IsAddressGreaterThanOrEqualTo" or "ByteOffset",
        } called && IsOfUnsafe(called)
            ? called.Name
            : null;

    /// <summary><c>Unsafe.AsPointer</c>.</summary>
    public static bool IsAsPointer(Instruction instruction) =>
        instruction.OpCode.Code == Code.Call && instruction.Operand is MethodReference { Name: "AsPointer" } called && IsOfUnsafe(called);

    /// <summary>Whether the instruction calls a compare-exchange that may be one of objects.</summary>
    public static bool IsCompareExchange(Instruction instruction)
    {
        if (instruction.OpCode.Code != Code.Call || instruction.Operand is not MethodReference { Name: "CompareExchange" or "InterlockedCompareExchange" } called)
        {
            return false;
        }

        string type = called.DeclaringType.FullName;
        return called.Name == "CompareExchange" && type == "System.Threading.Interlocked"
            ? called is GenericInstanceMethod || called.ReturnType.FullName == "System.Object"
            : type == "System.Runtime.RuntimeImports" && called.ReturnType.FullName == "System.Object";
    }

    /// <summary>Whether a body has any site; a look without an analysis.</summary>
    public static bool MayHaveSites(MethodDefinition method) => method.HasBody && method.Body.Instructions.Any(IsSite);

    private static bool IsOfUnsafe(MethodReference called) => called.DeclaringType.FullName is Unsafe or "Internal.Runtime.CompilerServices.Unsafe";

    private static bool FollowsNumber(Instruction instruction) => instruction.Previous?.OpCode.Code is >= Code.Ldc_I4_M1 and <= Code.Ldc_R8 or Code.Ldlen or Code.Conv_I4;

    private static bool IsCall(Instruction instruction) =>
        instruction.OpCode.Code == Code.Call && (IsReferenceEquals(instruction) || UnsafeComparison(instruction) is not null || IsAsPointer(instruction) || IsCompareExchange(instruction));
}
