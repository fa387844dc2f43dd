using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Equality, order and distance of managed pointers. Two of them may lead into one object under different names; then the answer has to be that of
/// its current name. Comparisons and subtractions, as instructions or as calls of <c>Unsafe</c>, which the JIT expands, become calls of methods of
/// <c>FreeholdRuntime</c> that are inlined and ask for current addresses only when one of the two has bit 31 set, where promoted copies lie.
/// The methods of <c>Unsafe</c> are no intrinsics any more and have bodies that ask too: whoever calls them otherwise, through a delegate, a function
/// pointer or reflection, gets the same answer. Only the sites that may compare names as they are become instructions that do.
/// Numbers that were made of references are treated like these: some methods subtract them.
/// <c>SpanHelpers.Memmove</c> and <c>Buffer.BulkMoveWithWriteBarrier</c> go on only with original names. Else the source is named as the destination is
/// when the two overlap, so that the overlap tests of the moves behind them, managed and native, are right as they are.
/// </summary>
public sealed class ReferenceComparisons : IRewritePass
{
    private const string Same = "SameReference";
    private const string Less = "ReferenceLess";
    private const string Greater = "ReferenceGreater";
    private const string Difference = "ReferenceDifference";
    private const string Offset = "ReferenceOffset";
    private const string Derived = "DerivedOffset";

    /// <summary>What <c>Buffer.BulkMoveWithWriteBarrier</c> moves at once; the injected runtime relies on it.</summary>
    private const int Chunk = 16384;

    /// <inheritdoc/>
    public string Name => nameof(ReferenceComparisons);

    /// <inheritdoc/>
    public int Version => 5;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = assembly.Role == AssemblyRole.CoreLib;
        if (changed)
        {
            Inject(assembly);
            string[] signature = ["System.Byte&", "System.Byte&", "System.UIntPtr"];
            MethodDefinition move = assembly.Method("System.Buffer", assembly.Names.MoveByReference, signature);
            MethodDefinition bulkMove = assembly.Method("System.Buffer", assembly.Names.MoveOfReferences, signature);
            MethodDefinition inChunks = assembly.Method("System.Buffer", assembly.Names.MoveOfReferencesInChunks, signature);
            RequireWrapper(assembly, bulkMove, "BulkMoveWithWriteBarrier", inChunks.Name);
            RequireWrapper(assembly, inChunks, "BulkMoveWithWriteBarrier");
            RequireWrapper(assembly, move, "Memmove");
            RewriteMove(assembly, assembly.Method("System.SpanHelpers", "Memmove", signature), statistics);
            MethodDefinition ofReferences = assembly.Method("System.Buffer", "BulkMoveWithWriteBarrier", signature);
            if (!ofReferences.Body.Instructions.Any(instruction => instruction.OpCode == OpCodes.Ldc_I4 && instruction.Operand is Chunk))
            {
                throw assembly.Unexpected(ofReferences, $"chunks of {Chunk} bytes");
            }

            RewriteMove(assembly, ofReferences, statistics);
        }

        foreach (MethodDefinition method in assembly.MethodsOfOthers)
        {
            List<Instruction> sites = [], left = [];
            foreach (Instruction site in method.Body.Instructions.Where(IsCandidate))
            {
                StackTypes types = assembly.StackTypesOf(method);
                if (!types.IsReachable(site) || !IsSite(method, types, site, statistics))
                {
                    continue;
                }

                string? reason = ReasonToSkip(assembly, method, types, site);
                if (reason is not null)
                {
                    statistics.Skip(method.FullName, reason);
                    if (site.OpCode.Code == Code.Call)
                    {
                        left.Add(site);
                    }

                    continue;
                }

                sites.Add(site);
                statistics.Rewrite(method.FullName);
            }

            if (sites.Count + left.Count > 0)
            {
                Rewrite(assembly, method, sites, left);
                changed = true;
            }
        }

        return changed;
    }

    /// <summary>Whether a method of this name is one of those that replace a comparison or subtraction.</summary>
    public static bool IsReplacement(string name) => name is Same or Less or Greater or Difference or Offset;

    private static bool IsCandidate(Instruction instruction) =>
        IdentitySites.IsComparison(instruction) || IdentitySites.IsSubtraction(instruction) || IdentitySites.UnsafeComparison(instruction) is not null;

    private static bool IsSite(MethodDefinition method, StackTypes types, Instruction site, PassStatistics statistics)
    {
        if (site.OpCode.Code == Code.Call)
        {
            return true;
        }

        StackValue left = types.Operands(site)[0], right = types.Operands(site)[1];
        // Numbers that were made of references count like these; and what an address is subtracted from is an address.
        const StackValue Place = StackValue.Reference | StackValue.Address;
        bool isSubtraction = IdentitySites.IsSubtraction(site);
        if ((right & Place) != 0 && (isSubtraction || (left & Place) != 0))
        {
            return true;
        }

        // Otherwise it is compared with null, with the end of the address space, or with a pointer of which nothing is known.
        if (((left | right) & Place) != 0 && !isSubtraction)
        {
            statistics.Skip(method.FullName, "with a number");
        }

        return false;
    }

    private static string? ReasonToSkip(AssemblyUnderRewrite assembly, MethodDefinition method, StackTypes types, Instruction site)
    {
        IReadOnlyList<StackValue> operands = types.Operands(site);
        if ((operands[0] & operands[1] & StackValue.Pinned) != 0)
        {
            return "both pinned";
        }

        // The loops over spans: a cursor and its end. A fault repairs all of a frame's references at once, so that they stay names of one kind; and a call
        // in such a loop, even one that is never made, costs the registers of its vectors.
        if (types.HaveOneRoot(site))
        {
            return "both derived from one reference";
        }

        if (assembly.Role != AssemblyRole.CoreLib)
        {
            return null;
        }

        return (method.DeclaringType.FullName, method.Name) switch
        {
            ("System.SpanHelpers", "Memmove") => "names made the same at the start",
            ("System.Buffer", _) when method.Name == assembly.Names.MoveOfReferencesInChunks => "names made the same at the start",
            // A shortcut: when it does not find the names equal, the bits are compared, and they are. Not where an Equals of the elements decides instead.
            ("System.SpanHelpers", "SequenceEqual" or "SequenceCompareTo") when IdentitySites.UnsafeComparison(site) == "AreSame"
                && method.Parameters[0].ParameterType.FullName is "System.Byte&" or "System.Char&" => "shortcut before a comparison of bits",
            _ => null,
        };
    }

    /// <summary>Rewrites the sites, and turns the calls among those that are left as they are into what <c>Unsafe</c> did.</summary>
    private static void Rewrite(AssemblyUnderRewrite assembly, MethodDefinition method, List<Instruction> sites, List<Instruction> left)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        ByReferenceType reference = new(types.Byte);
        MethodBody body = method.Body;
        body.BeginEdit();
        foreach (Instruction site in left)
        {
            (string question, bool negated) = QuestionOf(site);
            Instruction plain = question switch
            {
                Same => Instruction.Create(OpCodes.Ceq),
                Less => Instruction.Create(OpCodes.Clt_Un),
                Greater => Instruction.Create(OpCodes.Cgt_Un),
                _ => Call(Derived),
            };
            body.ReplaceComparison(site, plain, negated);
        }

        foreach (Instruction site in sites)
        {
            (string question, bool negated) = QuestionOf(site);
            body.ReplaceComparison(site, Call(question), negated);
        }

        body.EndEdit();

        Instruction Call(string name) =>
            Emit.Call(InjectedRuntime.Method(assembly, name, name is Difference or Offset or Derived ? types.IntPtr : types.Boolean, reference, reference));
    }

    /// <summary>The method that answers in the place of an instruction, and whether the instruction asks for the opposite.</summary>
    private static (string Method, bool Negated) QuestionOf(Instruction site) => (site.OpCode.Code, IdentitySites.UnsafeComparison(site)) switch
    {
        (Code.Ceq or Code.Beq, _) or (_, "AreSame") => (Same, false),
        (Code.Bne_Un, _) => (Same, true),
        (Code.Clt or Code.Clt_Un or Code.Blt or Code.Blt_Un, _) or (_, "IsAddressLessThan") => (Less, false),
        (Code.Bge or Code.Bge_Un, _) or (_, "IsAddressGreaterThanOrEqualTo") => (Less, true),
        (Code.Cgt or Code.Cgt_Un or Code.Bgt or Code.Bgt_Un, _) or (_, "IsAddressGreaterThan") => (Greater, false),
        (Code.Ble or Code.Ble_Un, _) or (_, "IsAddressLessThanOrEqualTo") => (Greater, true),
        (Code.Call, _) => (Offset, false),
        _ => (Difference, false),
    };

    /// <summary>
    /// Puts before a move: <c>if ((int)(destination | source) &lt; 0) { Named(destination, source, size); return; }</c>, where Named moves with names that are made the same.
    /// </summary>
    private static void RewriteMove(AssemblyUnderRewrite assembly, MethodDefinition method, PassStatistics statistics)
    {
        MethodDefinition named = assembly.Injected.Method(InjectedRuntime.FullName, method.Name + "Named");
        MethodBody body = method.Body;
        body.BeginEdit();
        Instruction start = Emit.Label();
        body.InsertBefore(
            body.Instructions[0],
            Emit.Load(method.Parameters[0]),
            Instruction.Create(OpCodes.Conv_U),
            Emit.Load(method.Parameters[1]),
            Instruction.Create(OpCodes.Conv_U),
            Instruction.Create(OpCodes.Or),
            Instruction.Create(OpCodes.Conv_I4),
            Instruction.Create(OpCodes.Ldc_I4_0),
            Instruction.Create(OpCodes.Bge, start),
            Emit.Load(method.Parameters[0]),
            Emit.Load(method.Parameters[1]),
            Emit.Load(method.Parameters[2]),
            Emit.Call(named),
            Emit.Return(),
            start);
        body.EndEdit();
        statistics.Rewrite(method.FullName);
    }

    /// <summary>A move of <c>System.Buffer</c> must be called by these only: they give it names that are made the same.</summary>
    private static void RequireWrapper(AssemblyUnderRewrite assembly, MethodDefinition target, params string[] wrappers)
    {
        foreach ((MethodDefinition caller, Instruction _) in assembly.CallsOf(target))
        {
            if (!wrappers.Contains(caller.Name) || caller.DeclaringType.FullName is not ("System.Buffer" or "System.SpanHelpers"))
            {
                throw assembly.Unexpected(caller, $"{target.Name} to be called by {string.Join(", ", wrappers)} only");
            }
        }
    }

    /// <summary>The methods of <c>Unsafe</c>: not all of them are in every version.</summary>
    private static void Inject(AssemblyUnderRewrite assembly)
    {
        foreach (string name in (string[])["AreSame", "IsAddressLessThan", "IsAddressGreaterThan", "IsAddressLessThanOrEqualTo", "IsAddressGreaterThanOrEqualTo", "ByteOffset"])
        {
            if (assembly.Type(IdentitySites.Unsafe).Methods.Any(method => method.Name == name))
            {
                assembly.UseBodyOfIntrinsic(assembly.Injected.Replace(IdentitySites.Unsafe, name));
            }
        }
    }
}
