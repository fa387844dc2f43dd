using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Where a collection of <see cref="OutgrownArraysTable"/> stores another array, the old one is noted (System.OutgrownArrays), and deleted when no stack leads to it. A program that has a way
/// to such an array (<see cref="WaysToArrays"/>) says at its start that it keeps the old arrays. So does reflection that reads or writes such a field, however it found it. After Kedia et al., PLDI 2017, whose ported libraries delete them by hand.
/// </summary>
public sealed class OutgrownArrays : IRewritePass
{
    private const string Outgrown = "Outgrown";
    private const string Keep = "KeepOutgrown";

    /// <inheritdoc/>
    public string Name => nameof(OutgrownArrays);

    /// <inheritdoc/>
    public int Version => 5;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <summary>Whether the pass may change the assembly: a cheap look.</summary>
    public static bool Concerns(ModuleDefinition module, AssemblyRole role) => role == AssemblyRole.Application
        ? WaysToArrays.In(module).Any()
        : OutgrownArraysTable.Rows.Any(row => module.GetType(row.Type) is not null);

    /// <summary>Throws <see cref="RewriteException"/> when the assemblies of a framework, together, did not have each type of the table once.</summary>
    public static void RequireAll(PassStatistics statistics) => statistics.RequireOnce(OutgrownArraysTable.Rows.Select(row => row.Type));

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        if (assembly.Role == AssemblyRole.Application)
        {
            return KeepIfAskedFor(assembly, statistics);
        }

        ModuleDefinition module = assembly.Module;
        bool changed = assembly.Role == AssemblyRole.CoreLib;
        if (changed)
        {
            KeepWhatReflectionKnows(assembly);
        }

        foreach (OutgrownArraysRow row in OutgrownArraysTable.Rows)
        {
            if (module.GetType(row.Type) is { } type)
            {
                NoteIn(assembly, type, row);
                statistics.Rewrite(row.Type);
                changed = true;
            }
        }

        return changed;
    }

    // Which field a program asks for is often not to be seen in it: all that a type has, or one whose name comes from elsewhere.
    private static void KeepWhatReflectionKnows(AssemblyUnderRewrite coreLib)
    {
        const string Field = "System.Reflection.Runtime.FieldInfos.RuntimeFieldInfo", Object = "System.Object", Reference = "System.TypedReference";
        foreach (MethodDefinition get in new[] { coreLib.Method(Field, "GetValue", Object), coreLib.Method(Field, "GetValueDirect", Reference) })
        {
            MethodBody body = get.Body;
            body.BeginEdit();
            foreach (Instruction end in body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Ret).ToArray())
            {
                body.InsertBefore(end, Emit.Load(body.ThisParameter), Hook(coreLib, "ReadByReflection"));
            }

            body.EndEdit();
        }

        MethodDefinition[] sets = [coreLib.Method(Field, "SetValue", Object, Object, "System.Reflection.BindingFlags", "System.Reflection.Binder", "System.Globalization.CultureInfo"), coreLib.Method(Field, "SetValueDirect", Reference, Object)];
        foreach (MethodDefinition set in sets)
        {
            Begin(set, Emit.Load(set.Parameters[1]), Emit.Load(set.Body.ThisParameter), Hook(coreLib, "WrittenByReflection"));
        }

        MethodDefinition make = coreLib.Method(Reference, "MakeTypedReference", Object, "System.Reflection.FieldInfo[]");
        Begin(make, Emit.Load(make.Parameters[1]), Hook(coreLib, "ReferredToByReflection"));
    }

    private static Instruction Hook(AssemblyUnderRewrite coreLib, string name) => Emit.Call(coreLib.Injected.Method(InjectedRuntime.FullName, name));

    private static void Begin(MethodDefinition method, params Instruction[] inserted)
    {
        method.Body.BeginEdit();
        method.Body.InsertBefore(method.Body.Instructions[0], inserted);
        method.Body.EndEdit();
    }

    private static void NoteIn(AssemblyUnderRewrite assembly, TypeDefinition type, OutgrownArraysRow row)
    {
        foreach (string names in row.Fields)
        {
            FieldDefinition[] fields = [.. type.Fields.Where(field => names.Split('|').Contains(field.Name))];
            if (fields.Length != 1)
            {
                throw new RewriteException(assembly.Name, $"{row.Type}::{names}", $"one such field (found {fields.Length})");
            }

            int found = 0;
            foreach (MethodDefinition method in type.Methods.Where(method => method.HasBody && row.Methods.Contains(method.Name)))
            {
                found += NoteIn(assembly, method, fields[0]);
            }

            if (found == 0)
            {
                throw new RewriteException(assembly.Name, $"{row.Type}::{names}", $"a store in {string.Join(" or ", row.Methods)}");
            }
        }
    }

    // How many stores there are. Both forms have the object below on the stack, and it is `this`.
    private static int NoteIn(AssemblyUnderRewrite assembly, MethodDefinition method, FieldDefinition field)
    {
        Instruction[] stores = [.. method.Body.Instructions.Where(instruction => instruction.OpCode.Code is Code.Stfld or Code.Ldflda && instruction.Operand is FieldReference one && one.Resolve() == field)];
        if (stores.Length == 0)
        {
            return 0;
        }

        MethodBody body = method.Body;
        body.BeginEdit();
        // From the last one: what is inserted takes the place of the store.
        foreach (Instruction store in stores.Reverse())
        {
            var reference = (FieldReference)store.Operand;
            VariableDefinition old = new(reference.FieldType);
            body.Variables.Add(old);
            body.InitLocals = true;
            Instruction moved = body.InsertBefore(store, Emit.This(), Emit.LoadField(reference), Emit.Store(old));
            body.InsertAfter(
                moved.OpCode.Code == Code.Stfld ? moved : ResizeAfter(assembly, method, moved),
                Emit.Load(old),
                Emit.This(),
                Emit.LoadField(reference),
                Instruction.Create(OpCodes.Sizeof, ((ArrayType)reference.FieldType).ElementType),
                Emit.Call(InjectedRuntime.Method(assembly, Outgrown, assembly.Module.TypeSystem.Void, Array(assembly), Array(assembly), assembly.Module.TypeSystem.Int32)));
        }

        body.EndEdit();
        return stores.Length;
    }

    // The address of a field is taken for Array.Resize, or for something that a reviewer has to see first.
    private static Instruction ResizeAfter(AssemblyUnderRewrite assembly, MethodDefinition method, Instruction address)
    {
        for (Instruction? next = address.Next; next is not null; next = next.Next)
        {
            if (next.OpCode.FlowControl is FlowControl.Branch or FlowControl.Cond_Branch or FlowControl.Return or FlowControl.Throw)
            {
                break;
            }

            if (next.Calls("System.Array", "Resize"))
            {
                return next;
            }
        }

        throw new RewriteException(assembly.Name, method.FullName, $"a call of Array.Resize with {((FieldReference)address.Operand).Name}");
    }

    private static TypeReference Array(AssemblyUnderRewrite assembly) =>
        assembly.Role == AssemblyRole.CoreLib ? assembly.Type("System.Array") : InjectedRuntime.Reference(assembly.Module, "System", "Array");

    private static bool KeepIfAskedFor(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        string[] ways = [.. WaysToArrays.In(assembly.Module).Distinct()];
        if (ways.Length == 0)
        {
            return false;
        }

        MethodDefinition initializer = ModuleInitializer(assembly.Module);
        initializer.Body.BeginEdit();
        initializer.Body.InsertBefore(initializer.Body.Instructions[0], Emit.Call(InjectedRuntime.Method(assembly, Keep, assembly.Module.TypeSystem.Void)));
        initializer.Body.EndEdit();
        statistics.Rewrite($"{assembly.Name} asks for {string.Join(", ", ways)}");
        return true;
    }

    private static MethodDefinition ModuleInitializer(ModuleDefinition module)
    {
        TypeDefinition type = module.GetType("<Module>");
        MethodDefinition? initializer = type.Methods.FirstOrDefault(method => method.Name == ".cctor");
        if (initializer is null)
        {
            const MethodAttributes Attributes = MethodAttributes.Private | MethodAttributes.Static | MethodAttributes.HideBySig | MethodAttributes.SpecialName | MethodAttributes.RTSpecialName;
            initializer = new MethodDefinition(".cctor", Attributes, module.TypeSystem.Void);
            initializer.Body.Append(Emit.Return());
            type.Methods.Add(initializer);
        }

        return initializer;
    }
}
