using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// What the framework stores in statics, it gives to all who ask: an empty match, a completed task, the text of a small number. Each such store marks the object before, and so does a store into
/// an array that is in a static, and what <see cref="SharedObjectsTable"/> names. Deletions leave marked objects (core::kSharedBit); reclaim does not ask. What a public method stores of its own
/// parameters, or a public type of itself, is the program's and stays so.
/// </summary>
public sealed class SharedObjects : IRewritePass
{
    private const string Share = "Share", ShareElements = "ShareElements", IsRunning = "IsRunning";
    private const int MostNested = 3;

    /// <inheritdoc/>
    public string Name => nameof(SharedObjects);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role != AssemblyRole.Application;

    /// <summary>Whether the pass may change the assembly: a cheap look.</summary>
    public static bool Concerns(ModuleDefinition module, AssemblyRole role) => role != AssemblyRole.Application
        && module.GetTypes().Any(type => type.Fields.Any(field => field.IsStatic && !field.HasConstant && !field.FieldType.IsPrimitive));

    /// <summary>Throws <see cref="RewriteException"/> when the assemblies of a framework, together, did not have each type of the table once.</summary>
    public static void RequireAll(PassStatistics statistics) => statistics.RequireOnce(SharedObjectsTable.Rows.Select(row => row.Type));

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = false;
        foreach (MethodDefinition method in assembly.MethodsOfOthers)
        {
            changed |= InStatics(assembly, method, statistics);
        }

        foreach (SharedObjectsRow row in SharedObjectsTable.Rows)
        {
            if (assembly.Module.GetType(row.Type) is { } type)
            {
                foreach (string member in row.Members)
                {
                    OfTable(assembly, type, member);
                }

                statistics.Rewrite(row.Type);
                changed = true;
            }
        }

        return changed;
    }

    private static bool InStatics(AssemblyUnderRewrite assembly, MethodDefinition method, PassStatistics statistics)
    {
        Instruction[] sites = [.. method.Body.Instructions.Where(instruction => instruction.OpCode.Code is Code.Stsfld or Code.Ldsflda or Code.Ldsfld && instruction.Operand is FieldReference field && HoldsObjects(field.FieldType, 0) && !IsOfThread(field))];
        List<(Instruction Before, Instruction[] Inserted)> edits = [];
        foreach (Instruction site in sites)
        {
            if (site.OpCode.Code == Code.Stsfld)
            {
                Stored(assembly, method, site, ((FieldReference)site.Operand).FieldType, edits, statistics);
            }
            else if (StackEffect.UserOf(site, out int above) is { } user)
            {
                Used(assembly, method, site, user, above, edits, statistics);
            }
        }

        if (edits.Count == 0)
        {
            return false;
        }

        Edit(method, edits);
        statistics.Rewrite(method.FullName);
        return true;
    }

    // The value that a store takes is on the stack.
    private static void Stored(AssemblyUnderRewrite assembly, MethodDefinition method, Instruction store, TypeReference type, List<(Instruction, Instruction[])> edits, PassStatistics statistics)
    {
        // Null, unless another way leads to the store, with something else.
        if (store.Previous?.OpCode.Code == Code.Ldnull && !Escape.KnownMethods.IsTarget(method.Body, store))
        {
            return;
        }

        if (Escape.IlSlots.ArgumentOf(method, Before(store)) is int argument && IsVisible(method.DeclaringType)
            && (method.IsPublic || method.IsFamily || method.IsFamilyOrAssembly || (method.HasThis && argument == 0)))
        {
            statistics.Skip(method.FullName, "the program's");
            return;
        }

        if (IsReference(type))
        {
            edits.Add((store, [Emit.Again(), Mark(assembly, type)]));
        }
        else if (store.OpCode.Code == Code.Stsfld && store.Next is not null)
        {
            Instruction end = Emit.Label();
            List<Instruction> inserted = [Call(assembly, IsRunning, assembly.Module.TypeSystem.Boolean), Emit.JumpIfFalse(end)];
            Contents(assembly, (FieldReference)store.Operand, [], inserted);
            if (inserted.Count > 2)
            {
                edits.Add((store.Next, [.. inserted, end]));
            }
        }
    }

    private static bool IsVisible(TypeDefinition type) => type.IsNested ? (type.IsNestedPublic || type.IsNestedFamily || type.IsNestedFamilyOrAssembly) && IsVisible(type.DeclaringType) : type.IsPublic;

    // What a thread keeps for itself it gives to nobody, and it may be the program's: the task that it runs.
    private static bool IsOfThread(FieldReference field) => field.Resolve() is { } definition && definition.CustomAttributes.Any(attribute => attribute.AttributeType.Name == "ThreadStaticAttribute");

    private static Instruction Before(Instruction instruction)
    {
        while (instruction.Previous is { OpCode.OpCodeType: OpCodeType.Prefix } prefix)
        {
            instruction = prefix;
        }

        return instruction.Previous ?? instruction;
    }

    // `site` loads a static, or its address; `user` takes that.
    private static void Used(AssemblyUnderRewrite assembly, MethodDefinition method, Instruction site, Instruction user, int above, List<(Instruction, Instruction[])> edits, PassStatistics statistics)
    {
        var field = (FieldReference)site.Operand;
        bool isAddress = site.OpCode.Code == Code.Ldsflda;
        switch (user.OpCode.Code)
        {
            case Code.Stelem_Ref when !isAddress && above == 2:
            case Code.Stelem_Any when !isAddress && above == 2 && IsReference((TypeReference)user.Operand):
            case Code.Stind_Ref when isAddress && above == 1:
                Stored(assembly, method, user, assembly.Module.TypeSystem.Object, edits, statistics);
                break;
            case Code.Ldelema when !isAddress && above == 1 && IsReference((TypeReference)user.Operand) && StackEffect.UserOf(user, out int more) is { OpCode.Code: Code.Call } call:
                Exchanged(assembly, method, call, more, [], edits);
                break;
            case Code.Call or Code.Callvirt when isAddress && IsReference(field.FieldType):
                Exchanged(assembly, method, user, above, [Instruction.Create(OpCodes.Ldsfld, field), Mark(assembly, field.FieldType)], edits);
                break;
        }
    }

    // A call has the address of a place. What CompareExchange and Exchange store is marked before; of others, what the place has afterwards.
    private static void Exchanged(AssemblyUnderRewrite assembly, MethodDefinition method, Instruction call, int above, Instruction[] afterwards, List<(Instruction, Instruction[])> edits)
    {
        var called = (MethodReference)call.Operand;
        switch (called.DeclaringType.FullName, called.Name, above)
        {
            case ("System.Threading.Volatile", "Read", _):
                break;
            case ("System.Threading.Interlocked", "CompareExchange", 2):
                if (call.Previous is { OpCode.Code: Code.Ldnull } nothing)
                {
                    edits.Add((nothing, [Emit.Again(), Call(assembly, Share, assembly.Module.TypeSystem.Void, assembly.Module.TypeSystem.Object)]));
                    break;
                }

                VariableDefinition comparand = new(assembly.Module.TypeSystem.Object);
                method.Body.Variables.Add(comparand);
                // The type of the comparand is the place's.
                comparand.VariableType = called is GenericInstanceMethod generic ? generic.GenericArguments[0] : comparand.VariableType;
                edits.Add((call, [Emit.Store(comparand), Emit.Again(), Call(assembly, Share, assembly.Module.TypeSystem.Void, assembly.Module.TypeSystem.Object), Emit.Load(comparand)]));
                break;
            case ("System.Threading.Interlocked", "Exchange", 1) or ("System.Threading.Volatile", "Write", 1):
                edits.Add((call, [Emit.Again(), Call(assembly, Share, assembly.Module.TypeSystem.Void, assembly.Module.TypeSystem.Object)]));
                break;
            default:
                if (afterwards.Length > 0 && call.Next is not null)
                {
                    edits.Add((call.Next, afterwards));
                }

                break;
        }
    }

    // Of a structure in a static: each reference in it.
    private static void Contents(AssemblyUnderRewrite assembly, FieldReference holder, FieldReference[] path, List<Instruction> inserted)
    {
        TypeReference type = path.Length == 0 ? holder.FieldType : path[^1].FieldType;
        if (path.Length > MostNested || type is GenericInstanceType || type.Resolve() is not { HasGenericParameters: false } structure)
        {
            return;
        }

        foreach (FieldDefinition field in structure.Fields.Where(field => !field.IsStatic && HoldsObjects(field.FieldType, path.Length)))
        {
            FieldReference reference = assembly.Module.ImportReference(field);
            FieldReference[] inner = [.. path, reference];
            if (IsReference(field.FieldType))
            {
                inserted.Add(Instruction.Create(OpCodes.Ldsflda, holder));
                inserted.AddRange(path.Select(Emit.LoadAddress));
                inserted.Add(Emit.LoadField(reference));
                inserted.Add(Mark(assembly, field.FieldType));
            }
            else
            {
                Contents(assembly, holder, inner, inserted);
            }
        }
    }

    private static void OfTable(AssemblyUnderRewrite assembly, TypeDefinition type, string member)
    {
        List<(MethodDefinition Method, Instruction Before, Instruction[] Inserted)> edits = [];
        if (!member.StartsWith('<') && member.Split('>') is [string caller, string called])
        {
            foreach (MethodDefinition method in type.Methods.Where(method => method.HasBody && method.Name == caller))
            {
                foreach (Instruction call in method.Body.Instructions.Where(instruction => instruction.OpCode.FlowControl == FlowControl.Call && instruction.Operand is MethodReference { Name: var name } && name == called))
                {
                    edits.Add((method, call, [.. Arguments(assembly, method, (MethodReference)call.Operand)]));
                }
            }
        }
        else if (member.EndsWith("()", System.StringComparison.Ordinal) || member == ".ctor")
        {
            foreach (MethodDefinition method in type.Methods.Where(method => method.HasBody && !(method.IsStatic && method.IsConstructor) && method.Name == member.TrimEnd('(', ')')))
            {
                foreach (Instruction end in method.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Ret))
                {
                    edits.Add((method, end, member == ".ctor" ? [Emit.This(), Mark(assembly, type)] : [Emit.Again(), Mark(assembly, method.ReturnType)]));
                }
            }
        }
        else
        {
            FieldDefinition[] fields = [.. type.Fields.Where(field => !field.IsStatic && IsReference(field.FieldType) && member is "*" || field.Name == member)];
            foreach (MethodDefinition method in type.Methods.Where(method => method.HasBody && !(member == "*" && method is { IsPublic: true, IsSetter: true })))
            {
                foreach (Instruction store in method.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Stfld && fields.Contains(((FieldReference)instruction.Operand).Resolve())))
                {
                    edits.Add((method, store, [Emit.Again(), Mark(assembly, ((FieldReference)store.Operand).FieldType)]));
                }
            }
        }

        if (edits.Count == 0)
        {
            throw new RewriteException(assembly.Name, $"{type.FullName}::{member}", "such a member");
        }

        foreach (IGrouping<MethodDefinition, (MethodDefinition Method, Instruction Before, Instruction[] Inserted)> group in edits.GroupBy(edit => edit.Method))
        {
            Edit(group.Key, [.. group.Select(edit => (edit.Before, edit.Inserted))]);
        }
    }

    // Objects that are given to a call are on the stack: each goes through a local.
    private static IEnumerable<Instruction> Arguments(AssemblyUnderRewrite assembly, MethodDefinition method, MethodReference called)
    {
        VariableDefinition[] given = [.. called.Parameters.Select(_ => new VariableDefinition(assembly.Module.TypeSystem.Object))];
        foreach (VariableDefinition argument in given.Reverse())
        {
            method.Body.Variables.Add(argument);
            yield return Emit.Store(argument);
        }

        foreach (VariableDefinition argument in given)
        {
            yield return Emit.Load(argument);
            yield return Emit.Again();
            yield return Mark(assembly, argument.VariableType);
        }
    }

    private static void Edit(MethodDefinition method, List<(Instruction Before, Instruction[] Inserted)> edits)
    {
        method.Body.BeginEdit();
        method.Body.InitLocals = true;
        // From the last one: what is inserted takes the place of the instruction.
        foreach ((Instruction before, Instruction[] inserted) in edits.OrderByDescending(edit => method.Body.Instructions.IndexOf(edit.Before)))
        {
            method.Body.InsertBefore(before, inserted);
        }

        method.Body.EndEdit();
    }

    private static Instruction Mark(AssemblyUnderRewrite assembly, TypeReference type)
    {
        TypeSystem system = assembly.Module.TypeSystem;
        return type is ArrayType { ElementType: var element } && IsReference(element)
            ? Call(assembly, ShareElements, system.Void, new ArrayType(system.Object))
            : Call(assembly, Share, system.Void, system.Object);
    }

    private static Instruction Call(AssemblyUnderRewrite assembly, string name, TypeReference returns, params TypeReference[] parameters) =>
        Emit.Call(InjectedRuntime.Method(assembly, name, returns, parameters));

    private static TypeReference Unmodified(TypeReference type) => type is IModifierType modified ? Unmodified(modified.ElementType) : type;

    // Not a type parameter, which may be either.
    private static bool IsReference(TypeReference type)
    {
        type = Unmodified(type);
        return type is not (GenericParameter or PointerType or ByReferenceType or FunctionPointerType) && !type.IsPrimitive && (type is ArrayType || type.Resolve() is { IsValueType: false });
    }

    private static bool HoldsObjects(TypeReference type, int depth)
    {
        type = Unmodified(type);
        return IsReference(type) || (depth <= MostNested && type is not (GenericParameter or PointerType or FunctionPointerType) && !type.IsPrimitive && type.Resolve() is { IsValueType: true, IsEnum: false } structure
            && structure.Fields.Any(field => !field.IsStatic && HoldsObjects(field.FieldType, depth + 1)));
    }
}
