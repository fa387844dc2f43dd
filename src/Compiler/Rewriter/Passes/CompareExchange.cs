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
    public int Version => 3;

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
            open = assembly.Type(InjectedRuntime.FullName).Methods.Single(method => method.Name == MethodName && method.HasGenericParameters);
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
        TypeSystem types = assembly.Module.TypeSystem;
        TypeDefinition owner = InjectedRuntime.Class(assembly);
        ByReferenceType reference = new(types.Object);
        MethodDefinition ofObjects = assembly.Method(Interlocked, MethodName, "System.Object&", "System.Object", "System.Object");
        MethodDefinition exchange = InjectedRuntime.AddMethod(owner, "CompareExchangeNames", MethodAttributes.Assembly, types.Object, reference, types.Object, types.Object);
        exchange.ImplAttributes = MethodImplAttributes.AggressiveInlining;
        MoveBody(assembly, ofObjects, exchange);
        MethodDefinition same = assembly.Method(InjectedRuntime.FullName, "SameObject", "System.Object", "System.Object");

        // Another name of the comparand was seen: the exchange is to happen, with that name. What is seen then is the answer, another name included, as
        // comparisons with it are comparisons of objects.
        // while (SameObject(seen, comparand)) { again = exchange(ref location, value, seen); if (again == seen) return seen; seen = again; } return seen;
        MethodDefinition retry = InjectedRuntime.AddMethod(owner, "CompareExchangeSlow", MethodAttributes.Assembly, types.Object, reference, types.Object, types.Object, types.Object);
        retry.ImplAttributes = MethodImplAttributes.NoInlining;
        VariableDefinition again = new(types.Object);
        retry.Body.Variables.Add(again);
        Instruction test = Instruction.Create(OpCodes.Ldarg_3);
        Instruction end = Instruction.Create(OpCodes.Ldarg_3);
        retry.Body.Append(
            test,
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Call, same),
            Instruction.Create(OpCodes.Brfalse_S, end),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ldarg_3),
            Instruction.Create(OpCodes.Call, exchange),
            Instruction.Create(OpCodes.Stloc_0),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Ldarg_3),
            Instruction.Create(OpCodes.Beq_S, end),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Starg_S, retry.Parameters[3]),
            Instruction.Create(OpCodes.Br_S, test),
            end,
            Instruction.Create(OpCodes.Ret));

        // seen = exchange(ref location, value, comparand);
        // return seen == comparand || comparand == null ? seen : CompareExchangeSlow(ref location, value, comparand, seen);
        MethodDefinition objects = InjectedRuntime.AddMethod(owner, MethodName, MethodAttributes.Public, types.Object, reference, types.Object, types.Object);
        objects.ImplAttributes = MethodImplAttributes.AggressiveInlining;
        VariableDefinition seen = new(types.Object);
        objects.Body.Variables.Add(seen);
        Instruction done = Instruction.Create(OpCodes.Ldloc_0);
        objects.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Call, exchange),
            Instruction.Create(OpCodes.Stloc_0),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Beq_S, done),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Brfalse_S, done),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Call, retry),
            Instruction.Create(OpCodes.Ret),
            done,
            Instruction.Create(OpCodes.Ret));

        ofObjects.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Call, objects),
            Instruction.Create(OpCodes.Ret));
        InjectGeneric(assembly, objects);
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

    /// <summary>
    /// <c>T CompareExchange&lt;T&gt;(ref T, T, T)</c>: for references <c>Unsafe.As&lt;T&gt;(CompareExchange(…))</c>, else <c>Interlocked.CompareExchange(…)</c>.
    /// </summary>
    /// <remarks>
    /// Not by <c>typeof(T).IsValueType</c>: code that is not optimised (a Debug build) would make the <c>Type</c>, for which the runtime takes locks, for
    /// whose owner's id it exchanges. What contains a reference, has its size and is null when boxed is one; ilc answers each without a call.
    /// </remarks>
    private static void InjectGeneric(AssemblyUnderRewrite assembly, MethodDefinition objects)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        MethodDefinition method = InjectedRuntime.AddMethod(InjectedRuntime.Class(assembly), MethodName, MethodAttributes.Public, types.Void);
        GenericParameter parameter = new("T", method);
        method.GenericParameters.Add(parameter);
        method.ReturnType = parameter;
        method.Parameters.Add(new ParameterDefinition("argument0", ParameterAttributes.None, new ByReferenceType(parameter)));
        method.Parameters.Add(new ParameterDefinition("argument1", ParameterAttributes.None, parameter));
        method.Parameters.Add(new ParameterDefinition("argument2", ParameterAttributes.None, parameter));
        method.ImplAttributes = MethodImplAttributes.AggressiveInlining;

        GenericInstanceMethod values = new(assembly.Type(Interlocked).Methods.Single(candidate => candidate.Name == MethodName && candidate.HasGenericParameters));
        values.GenericArguments.Add(parameter);
        GenericInstanceMethod cast = new(assembly.Type("System.Runtime.CompilerServices.Unsafe").Methods
            .Single(candidate => candidate.Name == "As" && candidate.GenericParameters.Count == 1 && candidate.Parameters[0].ParameterType == types.Object));
        cast.GenericArguments.Add(parameter);
        GenericInstanceMethod hasReferences = new(assembly.Type("System.Runtime.CompilerServices.RuntimeHelpers").Methods
            .Single(candidate => candidate.Name == "IsReferenceOrContainsReferences" && candidate.Parameters.Count == 0));
        hasReferences.GenericArguments.Add(parameter);
        VariableDefinition nothing = new(parameter);
        method.Body.Variables.Add(nothing);
        Instruction ofValues = Instruction.Create(OpCodes.Ldarg_0);
        method.Body.Append(
            Instruction.Create(OpCodes.Call, hasReferences),
            Instruction.Create(OpCodes.Brfalse_S, ofValues),
            Instruction.Create(OpCodes.Sizeof, parameter),
            Instruction.Create(OpCodes.Sizeof, types.Object),
            Instruction.Create(OpCodes.Bne_Un_S, ofValues),
            Instruction.Create(OpCodes.Ldloca_S, nothing),
            Instruction.Create(OpCodes.Initobj, parameter),
            Instruction.Create(OpCodes.Ldloc_0),
            Instruction.Create(OpCodes.Box, parameter),
            Instruction.Create(OpCodes.Brtrue_S, ofValues),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Box, parameter),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Box, parameter),
            Instruction.Create(OpCodes.Call, objects),
            Instruction.Create(OpCodes.Call, cast),
            Instruction.Create(OpCodes.Ret),
            ofValues,
            Instruction.Create(OpCodes.Ldarg_1),
            Instruction.Create(OpCodes.Ldarg_2),
            Instruction.Create(OpCodes.Call, values),
            Instruction.Create(OpCodes.Ret));
    }
}
