using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// <c>Unsafe.AsPointer</c> gives the current address. A raw pointer is of use while its object is pinned, and a pin makes pointers of the current name: code
/// that pins one ref, makes a pointer of another that has an old name, and subtracts them, perhaps in another method, must get their distance. Nor does
/// the kernel know old names. The method itself is no intrinsic any more and does the same, for delegates, function pointers and reflection; where an old name
/// will do, its call becomes the conversion.
/// </summary>
public sealed class CurrentPointers : IRewritePass
{
    private const string MethodName = "CurrentPointer";

    /// <inheritdoc/>
    public string Name => nameof(CurrentPointers);

    /// <inheritdoc/>
    public int Version => 2;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        TypeSystem system = assembly.Module.TypeSystem;
        ByReferenceType reference = new(system.Byte);
        PointerType pointer = new(system.Void);
        bool changed = assembly.Role == AssemblyRole.CoreLib;
        if (changed)
        {
            assembly.UseBodyOfIntrinsic(assembly.Injected.Replace(IdentitySites.Unsafe, "AsPointer"));
        }

        foreach ((MethodDefinition method, Instruction site, StackTypes types) in assembly.ReachableSites(IdentitySites.IsAsPointer))
        {
            string? reason = ReasonToSkip(assembly, method, types.Operands(site)[0], site);
            if (reason is not null)
            {
                statistics.Skip(method.FullName, reason);
                site.OpCode = OpCodes.Conv_U;
                site.Operand = null;
                changed = true;
                continue;
            }

            site.Operand = InjectedRuntime.Method(assembly, MethodName, pointer, reference);
            statistics.Rewrite(method.FullName);
            changed = true;
        }

        return changed;
    }

    private static string? ReasonToSkip(AssemblyUnderRewrite assembly, MethodDefinition method, StackValue operand, Instruction site)
    {
        if ((operand & StackValue.Pinned) != 0)
        {
            return "pinned, on the stack or data of the executable";
        }

        if (site.Next.OpCode.Code == Code.Call && site.Next.Operand is MethodReference { Name: var next } called
            && called.DeclaringType.FullName == InjectedRuntime.FullName && ReferenceComparisons.IsReplacement(next))
        {
            return "compared by its current name";
        }

        // Not every number that is only tested: it may be compared with one that was made of a pinned reference, by its current name.
        return NumbersWithoutPin.Of(assembly, method) == NumbersWithoutPin.Moment ? NumbersWithoutPin.Moment : NumbersWithoutPin.OfType(assembly, method.DeclaringType);
    }
}
