using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Members of CoreLib that reach an object's header through a raw pointer of a pinned object get a managed pointer instead:
/// pinned locals, pointer locals and pointer parameters become refs. A pin that the heap is not told of is none: a thread that is held up between computing
/// such a pointer and using it would find the object moved and the old address retired. And a pin that it is told of is too dear for <c>lock</c>.
/// The heap's objects own the bytes before the address that references have (an object at <c>p</c> owns <c>[p - 8, p - 8 + size)</c>), so that a ref to the
/// header at <c>p - 4</c> is an interior reference like any other: faults repair it, and so do the stops of the threads.
/// The pins also kept the objects alive: <see cref="LockEntries"/> sees to that.
/// </summary>
public sealed class ReferencesForPointers : IRewritePass
{
    private const string Interlocked = "System.Threading.Interlocked";
    private const string CompareExchange = "CompareExchange";

    // All names of members that the pass needs: another version of the framework may have others.
    private static readonly (string Type, string[] Methods)[] s_members =
    [
        ("System.Threading.ObjectHeader",
        [
            "GetHeaderPtr", "GetHashCode", "TryGetHashCode", "AssignHashCode", "GetSyncIndex", "SetSyncEntryIndex", "TryAcquire", "TryAcquireUncommon", "Release", "IsAcquired",
        ]),
        ("System.Threading.SyncTable", ["AssignEntry"]),
    ];

    /// <inheritdoc/>
    public string Name => nameof(ReferencesForPointers);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition[] methods = [.. s_members.SelectMany(member => member.Methods.Select(name => assembly.Method(member.Type, name, null)))];
        HashSet<MethodDefinition> changed = [.. methods];
        foreach (MethodDefinition method in methods.Where(method => method.Parameters.Any(parameter => parameter.ParameterType.IsPointer)))
        {
            foreach ((MethodDefinition caller, Instruction _) in assembly.CallsOf(method))
            {
                if (!changed.Contains(caller))
                {
                    throw assembly.Unexpected(caller, $"{method.Name} to be called by members of the list of {Name} only");
                }
            }
        }

        MethodDefinition exchange = assembly.Method(Interlocked, CompareExchange, "System.Int32&", "System.Int32", "System.Int32");
        foreach (MethodDefinition method in methods)
        {
            foreach (ParameterDefinition parameter in method.Parameters)
            {
                parameter.ParameterType = WithoutPointer(assembly, parameter.ParameterType);
            }

            if (method.HasBody)
            {
                method.ReturnType = WithoutPointer(assembly, method.ReturnType);
                Rewrite(assembly, method, exchange);
            }

            statistics.Rewrite(method.FullName);
        }

        return true;
    }

    private static void Rewrite(AssemblyUnderRewrite assembly, MethodDefinition method, MethodDefinition exchange)
    {
        MethodBody body = method.Body;
        body.BeginEdit();
        HashSet<VariableDefinition> pinned = [.. body.Variables.Where(variable => variable.VariableType is PinnedType { ElementType.IsByReference: true })];
        HashSet<VariableDefinition> pointers = [.. body.Variables.Where(variable => variable.VariableType.IsPointer)];
        if (pinned.Count != body.Variables.Count(variable => variable.IsPinned))
        {
            throw assembly.Unexpected(method, "pinned refs only");
        }

        foreach (Instruction instruction in body.Instructions.ToArray())
        {
            if (instruction.Operand is VariableDefinition variable && (pinned.Contains(variable) || pointers.Contains(variable)))
            {
                if (instruction.OpCode == OpCodes.Ldloca)
                {
                    throw assembly.Unexpected(method, "no pointer to have its address taken");
                }

                if (instruction.OpCode == OpCodes.Ldloc && pinned.Contains(variable))
                {
                    if (instruction.Next.OpCode != OpCodes.Conv_U)
                    {
                        throw assembly.Unexpected(method, "the pinned ref to be read as a pointer only");
                    }

                    body.Instructions.Remove(instruction.Next);
                }
            }
            else if (instruction.Calls(Interlocked, CompareExchange))
            {
                if (((MethodReference)instruction.Operand).Parameters[0].ParameterType.FullName != "System.Int32*")
                {
                    throw assembly.Unexpected(method, "exchanges through a pointer to the header");
                }

                instruction.Operand = exchange;
            }
        }

        foreach (VariableDefinition variable in pinned)
        {
            variable.VariableType = ((PinnedType)variable.VariableType).ElementType;
        }

        foreach (VariableDefinition pointer in pointers)
        {
            ComputeWhereUsed(body, pointer);
        }

        DuplicateEnds(body);

        foreach (VariableDefinition variable in pointers)
        {
            variable.VariableType = WithoutPointer(assembly, variable.VariableType);
        }

        body.EndEdit();
    }

    /// <summary>
    /// A ref that is computed once, of an argument, and from then on only read, is computed again at each use: it takes an instruction or none, while a ref that
    /// is kept takes a register of those that a method has to save.
    /// </summary>
    private static void ComputeWhereUsed(MethodBody body, VariableDefinition pointer)
    {
        Instruction[] uses = [.. body.Instructions.Where(instruction => instruction.Operand == pointer)];
        Instruction[] stores = [.. uses.Where(use => use.OpCode == OpCodes.Stloc)];
        if (stores is not [{ Previous: { } derive } store] || derive.OpCode != OpCodes.Call
            || derive.Previous is not { } load || load.OpCode != OpCodes.Ldloc
            || load.Previous is not { } pin || pin.OpCode != OpCodes.Stloc || pin.Operand != load.Operand
            || pin.Previous is not { } start || start.OpCode != OpCodes.Call
            || start.Previous is not { } argument || argument.OpCode != OpCodes.Ldarg
            || body.Instructions.Any(instruction => instruction.OpCode == OpCodes.Starg && instruction.Operand == argument.Operand))
        {
            return;
        }

        foreach (Instruction use in uses.Where(use => use != store))
        {
            body.Replace(use, Instruction.Create(argument.OpCode, (ParameterDefinition)argument.Operand), Instruction.Create(start.OpCode, (MethodReference)start.Operand), Instruction.Create(derive.OpCode, (MethodReference)derive.Operand));
        }

        foreach (Instruction instruction in (Instruction[])[argument, start, pin, load, derive, store])
        {
            instruction.OpCode = OpCodes.Nop;
            instruction.Operand = null;
        }
    }

    /// <summary>
    /// What two ways have in common at the end of a method, from the store of a value on, becomes theirs alone, with a local of its own. The value then lives
    /// within one block; else the JIT gives it a register that a method has to save, which made <c>Monitor.Exit</c> a seventh slower.
    /// </summary>
    private static void DuplicateEnds(MethodBody body)
    {
        const int AtMost = 16;
        foreach (Instruction branch in body.Instructions.Where(instruction => instruction.OpCode == OpCodes.Br).ToArray())
        {
            List<Instruction> end = [];
            for (var at = (Instruction?)branch.Operand; at is not null && end.Count < AtMost && (end.Count == 0 || end[^1].OpCode != OpCodes.Ret); at = at.Next)
            {
                end.Add(at);
            }

            if (end[0] is not { OpCode.Code: Code.Stloc, Operand: VariableDefinition local } || end[^1].OpCode != OpCodes.Ret || body.ExceptionHandlers.Count > 0
                || end.Any(instruction => instruction.Operand is Instruction target && end.Contains(target)))
            {
                continue;
            }

            VariableDefinition own = new(local.VariableType);
            body.Variables.Add(own);
            Instruction[] copies = [.. end.Select(_ => Emit.Label())];
            foreach ((Instruction copy, Instruction original) in copies.Zip(end))
            {
                copy.OpCode = original.OpCode;
                copy.Operand = original.Operand == local ? own : original.Operand;
            }

            body.Replace(branch, copies);
        }
    }

    private static TypeReference WithoutPointer(AssemblyUnderRewrite assembly, TypeReference type) => type is PointerType pointer
        ? new ByReferenceType(pointer.ElementType.MetadataType == MetadataType.Void ? assembly.Module.TypeSystem.Byte : pointer.ElementType)
        : type;
}
