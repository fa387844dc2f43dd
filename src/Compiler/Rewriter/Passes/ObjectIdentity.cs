using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Equality of object references. A promoted object has more than one address, and references to all of them are about: each comparison of two
/// references, as an instruction or as a call of <c>object.ReferenceEquals</c>, becomes one of <c>FreeholdRuntime.SameObject</c>, which is
/// inlined. Different addresses can be names of one object only when one of them has bit 31 set, where the copies lie. What a method returns without
/// a branch, as <c>object.Equals</c> does, is asked of <c>SameObjectValue</c>.
/// </summary>
public sealed class ObjectIdentity : IRewritePass
{
    private const string SameObject = "SameObject";
    private const string SameObjectValue = "SameObjectValue";

    /// <inheritdoc/>
    public string Name => nameof(ObjectIdentity);

    /// <inheritdoc/>
    public int Version => 5;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = false;
        foreach (MethodDefinition method in assembly.MethodsOfOthers)
        {
            List<Instruction> sites = [];
            foreach (Instruction site in method.Body.Instructions.Where(candidate => IdentitySites.IsComparison(candidate) || IdentitySites.IsReferenceEquals(candidate)))
            {
                StackTypes types = assembly.StackTypesOf(method);
                if (!types.IsReachable(site))
                {
                    continue;
                }

                // ilc makes a method that throws of one that uses such a value. In the framework nothing is missing.
                if (assembly.Role == AssemblyRole.Application && types.Operands(site).Any(operand => (operand & StackValue.Unresolved) != 0))
                {
                    statistics.Skip(method.FullName, "with a value of a type that is not there");
                    continue;
                }

                if (!ComparesObjects(assembly, method, types, site))
                {
                    continue;
                }

                string? reason = ReasonToSkip(assembly, method, types.Operands(site));
                if (reason is not null)
                {
                    statistics.Skip(method.FullName, reason);
                    continue;
                }

                sites.Add(site);
                statistics.Rewrite(method.FullName);
            }

            if (sites.Count > 0)
            {
                Rewrite(assembly, method, sites);
                changed = true;
            }
        }

        return changed;
    }

    /// <summary>Whether the operands are object references. What cannot be told is an error: it would be an equality that moving an object changes.</summary>
    private static bool ComparesObjects(AssemblyUnderRewrite assembly, MethodDefinition method, StackTypes types, Instruction site)
    {
        StackValue left = types.Operands(site)[0], right = types.Operands(site)[1], both = left | right;
        if ((both & (StackValue.Generic | StackValue.Unresolved)) != 0)
        {
            throw assembly.Unexpected(method, $"operands of known types at {site} (found {left} and {right})");
        }

        if ((both & StackValue.AnyObject) == 0)
        {
            return false;
        }

        bool objects = (both & ~(StackValue.AnyObject | StackValue.Pinned)) == 0;
        return objects || left == StackValue.Null || right == StackValue.Null
            ? objects
            : throw assembly.Unexpected(method, $"operands of one kind at {site} (found {left} and {right})");
    }

    private static string? ReasonToSkip(AssemblyUnderRewrite assembly, MethodDefinition method, IReadOnlyList<StackValue> operands)
    {
        if (operands.Any(operand => operand == StackValue.Null))
        {
            return "with null";
        }

        if (operands.Any(operand => (operand & ~(StackValue.Null | StackValue.Literal)) == 0))
        {
            return "with a literal, which is frozen";
        }

        if (operands.Any(operand => (operand & ~StackValue.Immovable) == 0))
        {
            return "with a type of the runtime, which is frozen";
        }

        if (assembly.Role != AssemblyRole.CoreLib)
        {
            return null;
        }

        // When the names are not equal, the strings are compared by their contents; types that may move, by the next step (TypeIdentity).
        return (method.DeclaringType.FullName, method.Name) is ("System.String", "Equals") or ("System.Type", "op_Equality")
            ? "shortcut before a comparison that does not look at names"
            : null;
    }

    private static void Rewrite(AssemblyUnderRewrite assembly, MethodDefinition method, List<Instruction> sites)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        MethodBody body = method.Body;
        body.BeginEdit();
        foreach (Instruction site in sites)
        {
            string name = site.OpCode.Code is Code.Call or Code.Ceq && site.Next?.OpCode.Code == Code.Ret ? SameObjectValue : SameObject;
            Instruction call = Emit.Call(InjectedRuntime.Method(assembly, name, types.Boolean, types.Object, types.Object));
            bool negated = site.OpCode.Code switch
            {
                Code.Call or Code.Ceq or Code.Beq => false,
                // "Not equal", as null is the lowest of all; of two references that are not null it has no other sense.
                Code.Bne_Un or Code.Cgt_Un => true,
                _ => throw assembly.Unexpected(method, $"no order between objects ({site})"),
            };
            body.ReplaceComparison(site, call, negated);
        }

        body.EndEdit();
    }
}
