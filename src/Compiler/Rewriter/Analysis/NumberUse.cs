using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Analysis;

/// <summary>
/// What a method does with a number on the evaluation stack: whether it may be used as an address, now or later. It follows the number forward, over
/// branches, arithmetic and locals. Whatever it does not know (a call, a field, a return) counts as use.
/// </summary>
public sealed class NumberUse
{
    /// <summary>A mask of at most so much leaves an alignment, not an address.</summary>
    private const int GreatestMask = 0xFFFF;

    private readonly MethodDefinition _method;
    private readonly HashSet<(Instruction At, int Above)> _seen = [];
    private readonly HashSet<int> _locals = [];

    private NumberUse(MethodDefinition method) => _method = method;

    /// <summary>Whether what the instruction pushes is only tested: compared, masked to an alignment, cut to 32 bits or dropped.</summary>
    public static bool IsOnlyTested(MethodDefinition method, Instruction source) => new NumberUse(method).IsTested(source.Next, 0);

    // The number lies below `above` others on the stack when control reaches the instruction.
    private bool IsTested(Instruction? at, int above)
    {
        while (at is not null && _seen.Add((at, above)))
        {
            OpCode opCode = at.OpCode;
            int pops = Pops(at);
            if (pops <= above)
            {
                switch (opCode.FlowControl)
                {
                    case FlowControl.Return or FlowControl.Throw:
                        return true;
                    case FlowControl.Branch when opCode.Code is Code.Leave or Code.Leave_S:
                        return true;
                    case FlowControl.Branch:
                        at = (Instruction)at.Operand;
                        continue;
                    case FlowControl.Cond_Branch when !Targets(at).All(target => IsTested(target, above - pops)):
                        return false;
                }

                above += Pushes(at) - pops;
                at = at.Next;
                continue;
            }

            switch (opCode.Code)
            {
                case Code.Pop or Code.Ceq or Code.Cgt or Code.Cgt_Un or Code.Clt or Code.Clt_Un or Code.Rem or Code.Rem_Un
                    or Code.Conv_I1 or Code.Conv_U1 or Code.Conv_I2 or Code.Conv_U2 or Code.Conv_I4 or Code.Conv_U4:
                    return true;
                case Code.And when above == 1 && IsSmallMask(at.Previous):
                    return true;
                case Code.Add or Code.Sub or Code.Mul or Code.And or Code.Or or Code.Xor or Code.Neg or Code.Not or Code.Shl or Code.Shr or Code.Shr_Un
                    or Code.Add_Ovf or Code.Add_Ovf_Un or Code.Sub_Ovf or Code.Sub_Ovf_Un or Code.Conv_I or Code.Conv_U or Code.Conv_I8 or Code.Conv_U8:
                    above = 0;
                    at = at.Next;
                    continue;
                case Code.Dup:
                    if (!IsTested(at.Next, 1))
                    {
                        return false;
                    }

                    above = 0;
                    at = at.Next;
                    continue;
            }

            // Conditional branches and comparisons with a branch.
            if (opCode.FlowControl == FlowControl.Cond_Branch)
            {
                return true;
            }

            return LocalOf(at) is { } local && opCode.StackBehaviourPush == StackBehaviour.Push0 && IsLocalTested(local);
        }

        return true;
    }

    private bool IsLocalTested(int local)
    {
        if (!_locals.Add(local))
        {
            return true;
        }

        Instruction[] uses = [.. _method.Body.Instructions.Where(instruction => LocalOf(instruction) == local && instruction.OpCode.StackBehaviourPush != StackBehaviour.Push0)];
        return uses.All(use => use.OpCode.Code is not (Code.Ldloca or Code.Ldloca_S) && IsTested(use.Next, 0));
    }

    private static int? LocalOf(Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Ldloc_0 or Code.Stloc_0 => 0,
        Code.Ldloc_1 or Code.Stloc_1 => 1,
        Code.Ldloc_2 or Code.Stloc_2 => 2,
        Code.Ldloc_3 or Code.Stloc_3 => 3,
        _ => (instruction.Operand as VariableDefinition)?.Index,
    };

    private static bool IsSmallMask(Instruction mask)
    {
        while (mask.OpCode.Code is Code.Conv_I or Code.Conv_U or Code.Conv_I8 or Code.Conv_U8)
        {
            mask = mask.Previous;
        }

        return mask.OpCode.Code switch
        {
            >= Code.Ldc_I4_0 and <= Code.Ldc_I4_8 => true,
            Code.Ldc_I4_S => (sbyte)mask.Operand >= 0,
            Code.Ldc_I4 => (int)mask.Operand is >= 0 and <= GreatestMask,
            Code.Ldc_I8 => (long)mask.Operand is >= 0 and <= GreatestMask,
            _ => false,
        };
    }

    private static Instruction[] Targets(Instruction branch) => branch.Operand as Instruction[] ?? [(Instruction)branch.Operand];

    private static int Pops(Instruction instruction)
    {
        if (instruction.Operand is IMethodSignature signature && instruction.OpCode.FlowControl == FlowControl.Call)
        {
            bool hasThis = signature.HasThis && !signature.ExplicitThis && instruction.OpCode.Code != Code.Newobj;
            return signature.Parameters.Count + (hasThis ? 1 : 0) + (instruction.OpCode.Code == Code.Calli ? 1 : 0);
        }

        return instruction.OpCode.StackBehaviourPop switch
        {
            StackBehaviour.Pop0 => 0,
            StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
            StackBehaviour.Popi_popi_popi or StackBehaviour.Popref_popi_popi or StackBehaviour.Popref_popi_popi8 or StackBehaviour.Popref_popi_popr4
                or StackBehaviour.Popref_popi_popr8 or StackBehaviour.Popref_popi_popref => 3,
            // Leave empties the stack; ret takes what is returned, which may be the number.
            StackBehaviour.PopAll => 0,
            StackBehaviour.Varpop => 1,
            _ => 2,
        };
    }

    private static int Pushes(Instruction instruction)
    {
        if (instruction.Operand is IMethodSignature signature && instruction.OpCode.FlowControl == FlowControl.Call)
        {
            TypeReference returned = signature.ReturnType;
            while (returned is IModifierType modified)
            {
                returned = modified.ElementType;
            }

            return instruction.OpCode.Code == Code.Newobj || returned.MetadataType != MetadataType.Void ? 1 : 0;
        }

        return instruction.OpCode.StackBehaviourPush switch
        {
            StackBehaviour.Push0 => 0,
            StackBehaviour.Push1_push1 => 2,
            _ => 1,
        };
    }
}
