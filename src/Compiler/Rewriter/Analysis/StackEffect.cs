using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Analysis;

/// <summary>How many values an instruction takes from the stack and leaves there, and who takes one.</summary>
internal static class StackEffect
{
    /// <summary>
    /// The instruction that takes what <paramref name="made"/> leaves on the stack, in a straight line; null where control divides before. A copy of the value is somebody else's.
    /// </summary>
    /// <param name="made">Leaves one value.</param>
    /// <param name="above">How many operands the user has above it.</param>
    public static Instruction? UserOf(Instruction made, out int above)
    {
        above = 0;
        for (Instruction? next = made.Next; next is not null; next = next.Next)
        {
            int popped = Popped(next);
            if (popped < 0)
            {
                return null;
            }

            if (popped > above)
            {
                return next;
            }

            if (next.OpCode.FlowControl is FlowControl.Branch or FlowControl.Cond_Branch or FlowControl.Return or FlowControl.Throw)
            {
                return null;
            }

            above += Pushed(next) - popped;
        }

        return null;
    }

    // Negative: not to be said without the method.
    private static int Popped(Instruction instruction) => instruction.OpCode.StackBehaviourPop switch
    {
        StackBehaviour.Pop0 => 0,
        StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
        StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popi_popi8 or StackBehaviour.Popi_popr4 or StackBehaviour.Popi_popr8
            or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
        StackBehaviour.PopAll => -1,
        StackBehaviour.Varpop when instruction.OpCode.FlowControl == FlowControl.Call && instruction.Operand is IMethodSignature called =>
            called.Parameters.Count + (called.HasThis && instruction.OpCode.Code != Code.Newobj ? 1 : 0) + (instruction.OpCode.Code == Code.Calli ? 1 : 0),
        StackBehaviour.Varpop => -1,
        _ => 3,
    };

    private static int Pushed(Instruction instruction) => instruction.OpCode.StackBehaviourPush switch
    {
        StackBehaviour.Push0 => 0,
        StackBehaviour.Push1_push1 => 2,
        StackBehaviour.Varpush => instruction.OpCode.Code == Code.Newobj || !IsVoid(((IMethodSignature)instruction.Operand).ReturnType) ? 1 : 0,
        _ => 1,
    };

    private static bool IsVoid(TypeReference type)
    {
        while (type is IModifierType modified)
        {
            type = modified.ElementType;
        }

        return type.MetadataType == MetadataType.Void;
    }
}
