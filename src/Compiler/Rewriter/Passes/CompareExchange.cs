using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Compare-exchange of object references. The memory and the comparand may hold different names of one object: the processor then finds them different
/// though they are the same. <c>Interlocked.CompareExchange</c> of objects becomes <c>FreeholdRuntime.CompareExchange</c>, which tries again with the
/// name that it saw. At the calls, since the JIT expands some of them; and the method for objects itself calls it, for delegates, function pointers and
/// reflection. The generic one ends there too.
/// </summary>
public sealed class CompareExchange : IRewritePass
{
    private const string MethodName = "CompareExchange";
    private const string Interlocked = "System.Threading.Interlocked";

    /// <inheritdoc/>
    public string Name => nameof(CompareExchange);

    /// <inheritdoc/>
    public int Version => 4;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = assembly.Role == AssemblyRole.CoreLib;
        if (changed)
        {
            Inject(assembly);
        }

        foreach ((MethodDefinition method, Instruction site, StackTypes types) in assembly.ReachableSites(IdentitySites.IsCompareExchange))
        {
            MethodReference called = (MethodReference)site.Operand;
            string? reason = ReasonToSkip(assembly, method, called, types.Operands(site)[2]);
            if (reason is not null)
            {
                statistics.Skip(method.FullName, reason);
                continue;
            }

            site.Operand = Replacement(assembly, called);
            statistics.Rewrite(method.FullName);
            changed = true;
        }

        return changed;
    }

    private static string? ReasonToSkip(AssemblyUnderRewrite assembly, MethodDefinition method, MethodReference called, StackValue comparand)
    {
        if (called is GenericInstanceMethod generic && Exchanged(assembly, method, generic) == StackValue.Number)
        {
            return "of values";
        }

        if ((comparand & ~StackValue.Immovable) == 0)
        {
            return comparand == StackValue.Null ? "with null" : "with what is frozen";
        }

        return null;
    }

    private static StackValue Exchanged(AssemblyUnderRewrite assembly, MethodDefinition method, GenericInstanceMethod called)
    {
        // Arguments of an instantiation come from a signature, which tells what they are.
        StackValue kind = ValueKinds.OfSignature(called.GenericArguments[0]);
        return kind is StackValue.Number or StackValue.Generic || (kind & StackValue.AnyObject) != 0
            ? kind
            : throw assembly.Unexpected(method, $"a type that can be exchanged (found {called.GenericArguments[0]})");
    }

    private static MethodReference Replacement(AssemblyUnderRewrite assembly, MethodReference called)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        if (called is not GenericInstanceMethod generic)
        {
            return InjectedRuntime.Method(assembly, MethodName, types.Object, new ByReferenceType(types.Object), types.Object, types.Object);
        }

        MethodReference open;
        if (assembly.Role == AssemblyRole.CoreLib)
        {
            open = assembly.Injected.Method(InjectedRuntime.FullName, MethodName, ["T&", "T", "T"]);
        }
        else
        {
            open = new MethodReference(MethodName, types.Void, InjectedRuntime.Reference(assembly.Module)) { HasThis = false };
            GenericParameter parameter = new("T", open);
            open.GenericParameters.Add(parameter);
            open.ReturnType = parameter;
            open.Parameters.Add(new ParameterDefinition(new ByReferenceType(parameter)));
            open.Parameters.Add(new ParameterDefinition(parameter));
            open.Parameters.Add(new ParameterDefinition(parameter));
        }

        GenericInstanceMethod replacement = new(open);
        replacement.GenericArguments.Add(generic.GenericArguments[0]);
        return replacement;
    }

    private static void Inject(AssemblyUnderRewrite assembly)
    {
        string[] parameters = ["System.Object&", "System.Object", "System.Object"];
        MoveBody(assembly, assembly.Method(Interlocked, MethodName, parameters), assembly.Injected.Method(InjectedRuntime.FullName, "CompareExchangeNames"));
        assembly.Injected.Replace(Interlocked, MethodName, parameters);
    }

    /// <summary>What the framework does, comparison of names included, goes to a method of its own.</summary>
    private static void MoveBody(AssemblyUnderRewrite assembly, MethodDefinition from, MethodDefinition to)
    {
        if (from.Body.HasVariables || from.Body.HasExceptionHandlers || !from.Body.Instructions.Any(instruction => instruction.Calls("System.Runtime.RuntimeImports", "InterlockedCompareExchange")))
        {
            throw assembly.Unexpected(from, "a call of RuntimeImports.InterlockedCompareExchange, without locals");
        }

        from.Body.BeginEdit();
        foreach (Instruction instruction in from.Body.Instructions)
        {
            if (instruction.Operand is ParameterDefinition parameter)
            {
                instruction.Operand = to.Parameters[parameter.Index];
            }

            to.Body.Instructions.Add(instruction);
        }

        to.Body.EndEdit();
        from.Body.Clear();
    }
}
