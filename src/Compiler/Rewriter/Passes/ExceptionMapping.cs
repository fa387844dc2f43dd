using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Lets the fault handler throw a dangling reference: <c>System.Runtime.EH.RhThrowHwEx</c> learns the codes 68 (the instruction itself faulted)
/// and 69 (a helper that it called did). Both get their exception from assembly Freehold; 69 clears <c>instructionFault</c> as the
/// runtime's own 0x42 does, so that the return address is taken for what it is when the handler table is searched.
/// </summary>
public sealed class ExceptionMapping : IRewritePass
{
    private const string EH = "System.Runtime.EH";
    private const int InstructionFaulted = 68;
    private const int HelperFaulted = 69;

    /// <inheritdoc/>
    public string Name => nameof(ExceptionMapping);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition method = assembly.Method(EH, "RhThrowHwEx", "System.UInt32", "System.Runtime.EH/ExInfo&");
        MethodBody body = method.Body;
        body.BeginEdit();

        // Code 67 is the model: it stores an object where the common end of the switch expects it, then jumps there.
        Instruction abort = body.Instructions.SingleOrDefault(instruction => instruction.Calls("System.Runtime.InternalCalls", "RhpGetThreadAbortException"))
            ?? throw assembly.Unexpected(method, "one call of RhpGetThreadAbortException");
        if (abort.Next?.OpCode != OpCodes.Stloc || abort.Next.Next?.OpCode != OpCodes.Br)
        {
            throw assembly.Unexpected(method, "RhpGetThreadAbortException's result to be stored, then a branch");
        }

        VariableDefinition exception = (VariableDefinition)abort.Next.Operand;
        Instruction end = (Instruction)abort.Next.Next.Operand;

        Instruction[] faultFlags = [.. body.Instructions.Where(instruction => instruction.OpCode == OpCodes.Stloc
            && ((VariableDefinition)instruction.Operand).VariableType.FullName == "System.Boolean")];
        if (faultFlags.Length != 2 || faultFlags[0].Previous.Operand is not 1 || faultFlags[1].Previous.Operand is not 0)
        {
            throw assembly.Unexpected(method, "instructionFault to be set to true at the start and to false for code 0x42");
        }

        VariableDefinition instructionFault = (VariableDefinition)faultFlags[0].Operand;
        Instruction start = body.Instructions.FirstOrDefault(instruction => instruction.OpCode == OpCodes.Ldarg && instruction.Operand == method.Parameters[0])
            ?? throw assembly.Unexpected(method, "the exception code to be read");
        Instruction[] preamble = [.. body.Instructions.TakeWhile(instruction => instruction != start)];
        if (!preamble.Contains(faultFlags[0]) || !preamble.Any(instruction => instruction.OpCode == OpCodes.Stloc && instruction.Operand == exception))
        {
            throw assembly.Unexpected(method, "all locals to be initialised before the exception code is read");
        }

        Instruction create = Emit.Call(assembly.Injected.Method(InjectedRuntime.FullName, "CreateDanglingReference"));
        Instruction other = Emit.Label();
        body.InsertBefore(
            start,
            Emit.Load(method.Parameters[0]),
            Emit.Load(InstructionFaulted),
            Emit.JumpIfEqual(create),
            Emit.Load(method.Parameters[0]),
            Emit.Load(HelperFaulted),
            Emit.JumpUnlessEqual(other),
            Emit.Load(0),
            Emit.Store(instructionFault),
            create,
            Emit.Store(exception),
            Emit.Jump(end),
            other);
        body.EndEdit();
        statistics.Rewrite(method.FullName);
        return true;
    }
}
