using System.Collections.Generic;
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

    /// <summary>Bytes between two safe points: 10 microseconds or so, a thousand times what a safe point costs.</summary>
    private const int Piece = 65536;

    /// <inheritdoc/>
    public string Name => nameof(BlockMoves);

    /// <inheritdoc/>
    public int Version => 2;

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
        Move(assembly, Emptied(assembly, move, movePointers), statistics);
        Zero(assembly, Emptied(assembly, fill, fillPointer), statistics);
        PollBetweenPieces(assembly, statistics);
        return true;
    }

    /// <summary>
    /// <c>if (len > Piece) { if (dest - src >= len) do { move(dest, src, Piece); dest += Piece; src += Piece; len -= Piece; poll } while (len > Piece);
    /// else do { len -= Piece; move(dest + len, src + len, Piece); poll } while (len > Piece); } move(dest, src, len)</c>: the pieces go in the direction
    /// that an overlap asks for.
    /// </summary>
    private static void Move(AssemblyUnderRewrite assembly, MethodDefinition method, PassStatistics statistics)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        ByReferenceType reference = new(types.Byte);
        MethodDefinition move = InjectedRuntime.Import(assembly, "MoveBlock", "freehold_memmove", types.Void, reference, reference, types.UIntPtr);
        Instruction forward = Instruction.Create(OpCodes.Ldarg_0), backward = Instruction.Create(OpCodes.Ldarg_2), rest = Instruction.Create(OpCodes.Ldarg_0);
        method.Body.Append(
            [
                .. IfNoMoreThanPiece(OpCodes.Ble_Un_S, rest),
                Instruction.Create(OpCodes.Ldarg_0),
                Instruction.Create(OpCodes.Ldarg_1),
                Instruction.Create(OpCodes.Call, InjectedRuntime.CurrentDifference(assembly)),
                Instruction.Create(OpCodes.Ldarg_2),
                Instruction.Create(OpCodes.Blt_Un_S, backward),

                forward,
                Instruction.Create(OpCodes.Ldarg_1),
                Instruction.Create(OpCodes.Ldc_I4, Piece),
                Instruction.Create(OpCodes.Conv_U),
                Instruction.Create(OpCodes.Call, move),
                .. Advance(method.Parameters[0]),
                .. Advance(method.Parameters[1]),
                .. Shorten(method.Parameters[2]),
                Poll(assembly),
                .. IfNoMoreThanPiece(OpCodes.Bgt_Un_S, forward),
                Instruction.Create(OpCodes.Br_S, rest),

                backward,
                .. Shorten(method.Parameters[2]).Skip(1),
                Instruction.Create(OpCodes.Ldarg_0),
                Instruction.Create(OpCodes.Ldarg_2),
                Instruction.Create(OpCodes.Add),
                Instruction.Create(OpCodes.Ldarg_1),
                Instruction.Create(OpCodes.Ldarg_2),
                Instruction.Create(OpCodes.Add),
                Instruction.Create(OpCodes.Ldc_I4, Piece),
                Instruction.Create(OpCodes.Conv_U),
                Instruction.Create(OpCodes.Call, move),
                Poll(assembly),
                .. IfNoMoreThanPiece(OpCodes.Bgt_Un_S, backward),

                rest,
                Instruction.Create(OpCodes.Ldarg_1),
                Instruction.Create(OpCodes.Ldarg_2),
                Instruction.Create(OpCodes.Call, move),
                Instruction.Create(OpCodes.Ret),
            ]);
        statistics.Rewrite(method.FullName);
    }

    private static void Zero(AssemblyUnderRewrite assembly, MethodDefinition method, PassStatistics statistics)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        MethodDefinition fill = InjectedRuntime.Import(assembly, "FillBlock", "freehold_memset", types.Void, new ByReferenceType(types.Byte), types.Int32, types.UIntPtr);
        Instruction piece = Instruction.Create(OpCodes.Ldarg_0), rest = Instruction.Create(OpCodes.Ldarg_0);
        method.Body.Append(
            [
                .. IfNoMoreThanPiece(OpCodes.Ble_Un_S, rest, OpCodes.Ldarg_1),
                piece,
                Instruction.Create(OpCodes.Ldc_I4_0),
                Instruction.Create(OpCodes.Ldc_I4, Piece),
                Instruction.Create(OpCodes.Conv_U),
                Instruction.Create(OpCodes.Call, fill),
                .. Advance(method.Parameters[0]),
                .. Shorten(method.Parameters[1]),
                Poll(assembly),
                .. IfNoMoreThanPiece(OpCodes.Bgt_Un_S, piece, OpCodes.Ldarg_1),
                rest,
                Instruction.Create(OpCodes.Ldc_I4_0),
                Instruction.Create(OpCodes.Ldarg_1),
                Instruction.Create(OpCodes.Call, fill),
                Instruction.Create(OpCodes.Ret),
            ]);
        statistics.Rewrite(method.FullName);
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
        Instruction.Create(OpCodes.Call, InjectedRuntime.Import(assembly, "SafePoint", "RhpGcPoll", assembly.Module.TypeSystem.Void));

    private static Instruction[] IfNoMoreThanPiece(OpCode branch, Instruction target, OpCode? size = null) =>
    [
        Instruction.Create(size ?? OpCodes.Ldarg_2),
        Instruction.Create(OpCodes.Ldc_I4, Piece),
        Instruction.Create(OpCodes.Conv_U),
        Instruction.Create(branch, target),
    ];

    private static IEnumerable<Instruction> Advance(ParameterDefinition place) => ByPiece(place, OpCodes.Add);

    private static IEnumerable<Instruction> Shorten(ParameterDefinition size) => ByPiece(size, OpCodes.Sub);

    private static Instruction[] ByPiece(ParameterDefinition parameter, OpCode operation) =>
    [
        Instruction.Create(parameter.Index switch { 0 => OpCodes.Ldarg_0, 1 => OpCodes.Ldarg_1, _ => OpCodes.Ldarg_2 }),
        Instruction.Create(OpCodes.Ldc_I4, Piece),
        Instruction.Create(OpCodes.Conv_U),
        Instruction.Create(operation),
        Instruction.Create(OpCodes.Starg_S, parameter),
    ];

    /// <summary>A method of Buffer that pins what it is given and hands it to libc, without its body.</summary>
    private static MethodDefinition Emptied(AssemblyUnderRewrite assembly, MethodDefinition method, MethodDefinition native)
    {
        if (!method.NoInlining || !method.Body.Variables.Any(variable => variable.IsPinned) || !method.Body.Instructions.Any(instruction => instruction.OpCode == OpCodes.Call && instruction.Operand == native))
        {
            throw assembly.Unexpected(method, "pinned references that are passed on");
        }

        method.Body.Clear();
        method.Body.InitLocals = false;
        return method;
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
