using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Large copies and fills go to <c>freehold_memmove</c> and <c>freehold_memset</c> instead of libc, piece by piece. The stock P/Invokes run in preemptive
/// mode, where a fault could not be turned into an exception of the caller; the new ones are imports, called like managed code, and the fault
/// handler knows how to unwind them by one return address. No thread can be stopped inside them, so that a safe point comes after each piece:
/// who stops the threads waits for some microseconds, not for the copy of a gigabyte.
/// </summary>
/// <remarks>
/// The two methods of <c>Buffer</c> that pin what they hand to libc (<see cref="FrameworkNames.MoveByReference"/>, <see cref="FrameworkNames.FillByReference"/>)
/// get new bodies, which pass references on: nothing is pinned, and no address is kept as a number over a safe point.
/// <see cref="FrameworkNames.MoveOfReferencesInChunks"/> has pieces already and gets the safe points.
/// The native moves compare the addresses that they are given. <see cref="ReferenceComparisons"/> sees to it that these name one object in one way.
/// </remarks>
public sealed class BlockMoves : IRewritePass
{
    private const string Buffer = "System.Buffer";
    private const string Imports = "System.Runtime.RuntimeImports";

    /// <inheritdoc/>
    public string Name => nameof(BlockMoves);

    /// <inheritdoc/>
    public int Version => 3;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition move = assembly.Method(Buffer, assembly.Names.MoveByReference, "System.Byte&", "System.Byte&", "System.UIntPtr");
        MethodDefinition movePointers = assembly.Method(Buffer, assembly.Names.MoveByPointer, "System.Byte*", "System.Byte*", "System.UIntPtr");
        MethodDefinition fill = assembly.Method(Buffer, assembly.Names.FillByReference, "System.Byte&", "System.UIntPtr");
        MethodDefinition fillPointer = assembly.Method(Buffer, assembly.Names.FillByPointer, "System.Void*", "System.UIntPtr");
        RequireCaller(assembly, movePointers, move);
        RequireCaller(assembly, fillPointer, fill);
        RequireCaller(assembly, assembly.Method(Imports, "memmove", "System.Byte*", "System.Byte*", "System.UIntPtr"), movePointers);
        RequireCaller(assembly, assembly.Method(Imports, "memset", "System.Byte*", "System.Int32", "System.UIntPtr"), fillPointer);
        foreach ((MethodDefinition method, MethodDefinition native, string name) in new[] { (move, movePointers, "MoveByReference"), (fill, fillPointer, "FillByReference") })
        {
            RequirePins(assembly, method, native);
            assembly.Injected.Replace(Buffer, name);
            statistics.Rewrite(method.FullName);
        }

        PollBetweenPieces(assembly, statistics);
        return true;
    }

    /// <summary>
    /// The two loops, forwards and backwards, are right as they are; the call behind them moves the rest. From .NET 10 on a safe point follows each call already,
    /// which the JIT expands.
    /// </summary>
    private static void PollBetweenPieces(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition method = assembly.Method(Buffer, assembly.Names.MoveOfReferencesInChunks, "System.Byte&", "System.Byte&", "System.UIntPtr");
        Instruction[] moves = [.. method.Body.Instructions.Where(instruction => instruction.Calls(Buffer, assembly.Names.MoveOfReferences))];
        if (moves.Length != 3 || (Polls(moves[2]) ? moves[2].Next.Next : moves[2].Next).OpCode != OpCodes.Ret)
        {
            throw assembly.Unexpected(method, "two loops and a rest");
        }

        method.Body.BeginEdit();
        foreach (Instruction move in moves.Take(2))
        {
            if (Polls(move))
            {
                statistics.Skip(method.FullName, "with a safe point behind it");
                continue;
            }

            method.Body.InsertAfter(move, Poll(assembly));
            statistics.Rewrite(method.FullName);
        }

        method.Body.EndEdit();

        static bool Polls(Instruction move) => move.Next.Calls("System.Threading.Thread", "FastPollGC");
    }

    /// <summary>The runtime's own safe point: a thread that is to stop stops here, with a frame from which its stack can be walked.</summary>
    private static Instruction Poll(AssemblyUnderRewrite assembly) =>
        Emit.Call(assembly.Injected.Method(InjectedRuntime.FullName, "SafePoint"));

    /// <summary>What is replaced is a method of Buffer that pins what it is given and hands it to libc.</summary>
    private static void RequirePins(AssemblyUnderRewrite assembly, MethodDefinition method, MethodDefinition native)
    {
        if (!method.NoInlining || !method.Body.Variables.Any(variable => variable.IsPinned) || !method.Body.Instructions.Any(instruction => instruction.OpCode == OpCodes.Call && instruction.Operand == native))
        {
            throw assembly.Unexpected(method, "pinned references that are passed on");
        }
    }

    /// <summary>What is replaced must be reached in no other way.</summary>
    private static void RequireCaller(AssemblyUnderRewrite assembly, MethodDefinition target, MethodDefinition expected)
    {
        foreach ((MethodDefinition caller, Instruction _) in assembly.CallsOf(target))
        {
            if (caller != expected)
            {
                throw assembly.Unexpected(caller, $"{target.FullName} to be called by {expected.FullName} only");
            }
        }
    }
}
