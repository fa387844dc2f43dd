using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>Which local or argument an instruction reads, writes or takes the address of.</summary>
internal static class IlSlots
{
    /// <summary>The local, or null.</summary>
    public static VariableDefinition? LocalOf(MethodBody body, Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Ldloc_0 or Code.Stloc_0 => body.Variables[0],
        Code.Ldloc_1 or Code.Stloc_1 => body.Variables[1],
        Code.Ldloc_2 or Code.Stloc_2 => body.Variables[2],
        Code.Ldloc_3 or Code.Stloc_3 => body.Variables[3],
        _ => instruction.Operand as VariableDefinition,
    };

    /// <summary>The argument, <c>this</c> being the first, or null.</summary>
    public static int? ArgumentOf(MethodDefinition method, Instruction instruction)
    {
        int first = method.HasThis && !method.ExplicitThis ? 1 : 0;
        return instruction.OpCode.Code switch
        {
            Code.Ldarg_0 => 0,
            Code.Ldarg_1 => 1,
            Code.Ldarg_2 => 2,
            Code.Ldarg_3 => 3,
            _ => instruction.Operand is ParameterDefinition parameter ? parameter.Index + first : null,
        };
    }
}
