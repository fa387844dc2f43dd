using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// The hash codes that dictionaries and sets of strings use by default read the characters through a pointer into a pinned string. A pin costs more than
/// such a hash, and the string's block then needs a look at the stacks before it can be promoted. They read through a ref instead, which follows the
/// string wherever it goes: the pinned local and the pointer become refs. No pointer leaves these methods, none is compared, and none leads further than
/// one past the characters and their terminator.
/// </summary>
public sealed class StringHashes : IRewritePass
{
    private const string StringType = "System.String";
    private const string Span = "System.ReadOnlySpan`1<System.Char>";
    private const string UnsafeType = "System.Runtime.CompilerServices.Unsafe";
    private const string Read = "ReadUnaligned";

    /// <inheritdoc/>
    public string Name => nameof(StringHashes);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition readThroughRef = assembly.Method(UnsafeType, Read, "System.Byte&");
        foreach (string name in (string[])["GetNonRandomizedHashCode", "GetNonRandomizedHashCodeOrdinalIgnoreCase"])
        {
            foreach (MethodDefinition method in (MethodDefinition[])[assembly.Method(StringType, name, []), assembly.Method(StringType, name, Span)])
            {
                Unpin(assembly, method, readThroughRef);
                statistics.Rewrite(method.FullName);
            }
        }

        return true;
    }

    private static void Unpin(AssemblyUnderRewrite assembly, MethodDefinition method, MethodDefinition readThroughRef)
    {
        MethodBody body = method.Body;
        VariableDefinition[] pinned = [.. body.Variables.Where(variable => variable.IsPinned)];
        VariableDefinition[] pointers = [.. body.Variables.Where(variable => variable.VariableType.IsPointer)];
        if (pinned is not [{ VariableType: PinnedType { ElementType: ByReferenceType characters } }] || pointers is not [{ VariableType: PointerType { ElementType: var word } }])
        {
            throw assembly.Unexpected(method, "one pinned ref and one pointer");
        }

        body.BeginEdit();
        if (body.Instructions.Any(instruction => instruction.OpCode == OpCodes.Ldloca && (instruction.Operand == pinned[0] || instruction.Operand == pointers[0])))
        {
            throw assembly.Unexpected(method, "neither local to have its address taken");
        }

        foreach (Instruction load in body.Instructions.Where(instruction => instruction.OpCode == OpCodes.Ldloc).ToArray())
        {
            if (load.Operand == pinned[0])
            {
                if (load.Next.OpCode != OpCodes.Conv_U)
                {
                    throw assembly.Unexpected(method, "the pinned ref to be read as a pointer only");
                }

                body.Instructions.Remove(load.Next);
            }
            else if (load.Operand == pointers[0])
            {
                Instruction use = AfterOffset(load.Next);
                if (use.Calls(UnsafeType, Read) && use.Operand is GenericInstanceMethod { Parameters: [{ ParameterType.IsPointer: true }] } read)
                {
                    GenericInstanceMethod replacement = new(readThroughRef);
                    replacement.GenericArguments.Add(read.GenericArguments[0]);
                    use.Operand = replacement;
                }
                else if (use.OpCode.Code is not (Code.Ldind_U4 or Code.Ldind_U2) && !(use.OpCode == OpCodes.Stloc && use.Operand == pointers[0]))
                {
                    throw assembly.Unexpected(method, "the pointer to be used for reading and stepping only");
                }
            }
        }

        pinned[0].VariableType = characters;
        pointers[0].VariableType = new ByReferenceType(word);
        body.EndEdit();
    }

    /// <summary>What follows the addition of a constant: 4, or 2 times 4.</summary>
    private static Instruction AfterOffset(Instruction instruction)
    {
        if (instruction.OpCode != OpCodes.Ldc_I4)
        {
            return instruction;
        }

        Instruction next = instruction.Next;
        if (next.OpCode == OpCodes.Conv_I && next.Next is { OpCode.Code: Code.Ldc_I4, Next: { OpCode.Code: Code.Mul } product })
        {
            next = product.Next;
        }

        return next.OpCode == OpCodes.Add ? next.Next : instruction;
    }
}
