using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;
using Mono.Cecil.Rocks;

namespace Freehold.Rewriter;

/// <summary>Edits of method bodies that keep branches, handlers and sequence points right.</summary>
public static class IlEditing
{
    /// <summary>
    /// Puts instructions before one, so that branches to that one run them too: the instruction object itself becomes the first of the new
    /// ones (whatever refers to it, branch, handler boundary or sequence point, then needs no change) and a copy of it comes last.
    /// </summary>
    /// <returns>The copy.</returns>
    /// <remarks>A call with a prefix is one with it: what comes before such a call comes before the prefix.</remarks>
    public static Instruction InsertBefore(this MethodBody body, Instruction target, params IReadOnlyList<Instruction> inserted)
    {
        while (target.Previous?.OpCode.OpCodeType == OpCodeType.Prefix)
        {
            target = target.Previous;
        }

        Instruction copy = Instruction.Create(OpCodes.Nop);
        copy.OpCode = target.OpCode;
        copy.Operand = target.Operand;
        target.OpCode = inserted[0].OpCode;
        target.Operand = inserted[0].Operand;

        int index = body.Instructions.IndexOf(target) + 1;
        foreach (Instruction instruction in inserted.Skip(1))
        {
            body.Instructions.Insert(index++, instruction);
        }

        body.Instructions.Insert(index, copy);
        return copy;
    }

    /// <summary>Puts instructions behind one: whoever comes from it runs them, whoever jumps to what follows it does not. A call is no tail call any more then.</summary>
    public static void InsertAfter(this MethodBody body, Instruction target, params IReadOnlyList<Instruction> inserted)
    {
        if (target.Previous?.OpCode.Code == Code.Tail)
        {
            target.Previous.OpCode = OpCodes.Nop;
        }

        int index = body.Instructions.IndexOf(target) + 1;
        foreach (Instruction instruction in inserted)
        {
            body.Instructions.Insert(index++, instruction);
        }
    }

    /// <summary>
    /// Turns an instruction into others, in its place. The prefix <c>tail.</c> of a call stays if all that takes its place is another call: it must have the same
    /// stack, and the return, right behind it.
    /// </summary>
    public static void Replace(this MethodBody body, Instruction target, params IReadOnlyList<Instruction> replacement)
    {
        if (target.Previous?.OpCode.Code == Code.Tail && replacement is not [{ OpCode.Code: Code.Call or Code.Callvirt or Code.Calli }])
        {
            // The instruction stays: somebody may jump to it.
            target.Previous.OpCode = OpCodes.Nop;
        }

        target.OpCode = replacement[0].OpCode;
        target.Operand = replacement[0].Operand;
        int index = body.Instructions.IndexOf(target) + 1;
        foreach (Instruction instruction in replacement.Skip(1))
        {
            body.Instructions.Insert(index++, instruction);
        }
    }

    /// <summary>Puts a call that answers in the place of a comparison, or of a branch on one; <paramref name="negated"/>: the comparison asks for the opposite.</summary>
    public static void ReplaceComparison(this MethodBody body, Instruction comparison, Instruction call, bool negated) =>
        body.Replace(comparison, (comparison.Operand, negated) switch
        {
            (Instruction target, false) => [call, Emit.JumpIfTrue(target)],
            (Instruction target, true) => [call, Emit.JumpIfFalse(target)],
            (_, false) => [call],
            _ => [call, .. Emit.Not()],
        });

    /// <summary>Long forms while a body is edited: an inserted instruction may push a short branch out of reach.</summary>
    public static void BeginEdit(this MethodBody body) => body.SimplifyMacros();

    /// <summary>Short forms again.</summary>
    public static void EndEdit(this MethodBody body)
    {
        body.OptimizeMacros();
    }

    /// <summary>Appends instructions.</summary>
    public static void Append(this MethodBody body, params IEnumerable<Instruction> instructions)
    {
        foreach (Instruction instruction in instructions)
        {
            body.Instructions.Add(instruction);
        }
    }

    /// <summary>Removes everything a body contains.</summary>
    public static void Clear(this MethodBody body)
    {
        body.Instructions.Clear();
        body.ExceptionHandlers.Clear();
        body.Variables.Clear();
        body.Method.DebugInformation.SequencePoints.Clear();
        body.Method.DebugInformation.Scope = null;
    }

    /// <summary>Whether the instruction calls this method.</summary>
    public static bool Calls(this Instruction? instruction, string type, string method) =>
        instruction?.Operand is MethodReference called && called.Name == method && called.DeclaringType.FullName == type;
}
