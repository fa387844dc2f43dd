using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// What <c>Heap.Delete</c> deletes beside its object. <c>System.Object</c> gets a virtual method, <c>FreeholdCollectParts</c>, which does nothing; types in
/// <see cref="OwnedPartsTable"/>, and the program's types with fields marked <c>[Owned]</c>, override it and name their parts, one after the other, to <c>FreeholdAddPart</c>.
/// The native heap sees by the vtable which objects own something (heap/owned_parts.h), so nobody else pays for it. After Kedia et al., PLDI 2017, whose
/// ported libraries have destructors.
/// </summary>
public sealed class OwnedParts : IRewritePass
{
    private const string Collect = "FreeholdCollectParts";
    private const string Attribute = "System.OwnedAttribute";
    private const string New = "new";

    /// <inheritdoc/>
    public string Name => nameof(OwnedParts);

    /// <inheritdoc/>
    public int Version => 7;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <summary>Whether the pass may change the assembly: a cheap look.</summary>
    public static bool Concerns(ModuleDefinition module, AssemblyRole role) => role == AssemblyRole.Application
        ? module.GetTypes().Any(type => type.Fields.Any(field => Marks(field).Any()))
        : OwnedPartsTable.Rows.Any(row => TypesOf(row, module).Any());

    /// <summary>Throws <see cref="RewriteException"/> when the assemblies of a framework, together, did not have each type of the table once.</summary>
    public static void RequireAll(PassStatistics statistics) => statistics.RequireOnce(OwnedPartsTable.Rows.Select(row => row.Type));

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = false;
        if (assembly.Role == AssemblyRole.CoreLib)
        {
            AddToObject(assembly);
            changed = true;
        }

        if (assembly.Role == AssemblyRole.Application)
        {
            foreach (TypeDefinition type in assembly.Module.GetTypes().ToArray())
            {
                (FieldDefinition Field, CustomAttribute Mark)[] owned =
                    [.. from field in type.Fields from mark in Marks(field) select (field, mark)];
                if (owned.Length > 0)
                {
                    Override(assembly, type, [.. owned.Select(one => PathOf(assembly, one.Field, one.Mark))]);
                    statistics.Rewrite(type.FullName);
                    changed = true;
                }
            }

            return changed;
        }

        foreach (OwnedPartsRow row in OwnedPartsTable.Rows)
        {
            foreach (TypeDefinition type in TypesOf(row, assembly.Module))
            {
                Override(assembly, type, row.Parts);
                statistics.Rewrite(row.Type);
                changed = true;
            }
        }

        return changed;
    }

    private static IEnumerable<TypeDefinition> TypesOf(OwnedPartsRow row, ModuleDefinition module) => row.Type.Split('|').Select(module.GetType).Where(type => type is not null);

    private static IEnumerable<CustomAttribute> Marks(FieldDefinition field) => field.CustomAttributes.Where(mark => mark.AttributeType.FullName == Attribute);

    // `a{}` if the mark says that the elements are owned too.
    private static string PathOf(AssemblyUnderRewrite assembly, FieldDefinition field, CustomAttribute mark)
    {
        if (field.IsStatic || field.DeclaringType.IsValueType || field.FieldType.IsValueType || field.FieldType is PointerType or FunctionPointerType or ByReferenceType
            or GenericParameter { HasReferenceTypeConstraint: false })
        {
            throw new RewriteException($"{assembly.Name}: {field.FullName} is marked [Owned], which is for instance fields of a class that are of a reference type. Remove the mark.");
        }

        return mark.Properties.Any(property => property is { Name: "Elements", Argument.Value: true }) ? field.Name + "{}" : field.Name;
    }

    private static void AddToObject(AssemblyUnderRewrite coreLib)
    {
        TypeDefinition type = coreLib.Type("System.Object");
        MethodDefinition none = new(Collect, MethodAttributes.Family | MethodAttributes.Virtual | MethodAttributes.NewSlot | MethodAttributes.HideBySig, coreLib.Module.TypeSystem.Void);
        none.Body.Append(Emit.Return());
        none.CustomAttributes.Add(InjectedRuntime.ExportAttribute(coreLib, "FreeholdCollectNoParts"));
        type.Methods.Insert(0, none);  // the first slot of every vtable: heap/owned_parts.h reads it there

        MethodDefinition collect = InjectedRuntime.AddMethod(InjectedRuntime.Class(coreLib), "CollectParts", MethodAttributes.Public, coreLib.Module.TypeSystem.Void, coreLib.Module.TypeSystem.Object);
        collect.CustomAttributes.Add(InjectedRuntime.ExportAttribute(coreLib, "FreeholdCollectParts"));
        collect.Body.Append(Emit.This(), Emit.CallVirtual(none), Emit.Return());
    }

    private static void Override(AssemblyUnderRewrite assembly, TypeDefinition type, string[] parts)
    {
        ModuleDefinition module = assembly.Module;
        MethodDefinition method = new(Collect, MethodAttributes.Family | MethodAttributes.Virtual | MethodAttributes.HideBySig, module.TypeSystem.Void);
        type.Methods.Add(method);
        method.Body.InitLocals = true;
        if (parts.Length > 0 && type.BaseType.FullName != "System.Object")
        {
            MethodReference inherited = new(Collect, module.TypeSystem.Void, type.BaseType) { HasThis = true };
            method.Body.Append(Emit.This(), Emit.Call(inherited));
        }

        foreach (string part in parts)
        {
            new PartEmitter(assembly, method).Name(part);
        }

        method.Body.Append(Emit.Return());
        method.Body.EndEdit();
    }

    // Appends what names one part.
    private sealed class PartEmitter(AssemblyUnderRewrite assembly, MethodDefinition method)
    {
        private readonly TypeReference _object = assembly.Module.TypeSystem.Object;
        private readonly Instruction _end = Emit.Label();

        public void Name(string part)
        {
            string[] conditions = part.Split('?');
            foreach (string condition in conditions[..^1])
            {
                string flag = condition.TrimStart('!');
                if (flag.EndsWith("()", StringComparison.Ordinal) && flag[..^2].Split('.') is [string holder, string property])
                {
                    Ask(Find(method.DeclaringType, holder), property);
                    continue;
                }

                LoadThisField(flag == New ? NoteWhereMade(Find(method.DeclaringType, conditions[^1]))
                    : flag.EndsWith("()", StringComparison.Ordinal) ? NoteCalls(flag[..^2]) : Find(method.DeclaringType, flag));
                Append(Instruction.Create(flag == condition ? OpCodes.Brfalse : OpCodes.Brtrue, _end));
            }

            Path(conditions[^1]);
            Append(_end);
        }

        // if (field == null || !field.Property) goto end; what there is no object for, is not done.
        private void Ask(FieldDefinition holder, string property)
        {
            TypeDefinition type = holder.FieldType.Resolve();
            MethodDefinition getter = type.Methods.FirstOrDefault(one => one.Name == "get_" + property) ?? throw new RewriteException(assembly.Name, $"{type.FullName}::{property}", "such a property");
            LoadThisField(holder);
            Append(Emit.JumpIfFalse(_end));
            LoadThisField(holder);
            Append(Emit.CallVirtual(assembly.Module.ImportReference(getter)), Emit.JumpIfFalse(_end));
        }

        // A flag, which the methods of this name set as they begin. One for all parts.
        private FieldDefinition NoteCalls(string called)
        {
            TypeDefinition type = method.DeclaringType;
            string name = "FreeholdCalled" + called;
            if (type.Fields.FirstOrDefault(field => field.Name == name) is { } flag)
            {
                return flag;
            }

            MethodDefinition[] methods = [.. type.Methods.Where(one => one.Name == called && one.HasBody)];
            if (methods.Length == 0)
            {
                throw new RewriteException(assembly.Name, $"{type.FullName}::{called}", "such a method");
            }

            flag = new FieldDefinition(name, FieldAttributes.Private, assembly.Module.TypeSystem.Boolean);
            type.Fields.Add(flag);
            foreach (MethodDefinition one in methods)
            {
                one.Body.BeginEdit();
                one.Body.InsertBefore(one.Body.Instructions[0], Emit.This(), Instruction.Create(OpCodes.Ldc_I4_1), Emit.StoreField(Of(flag)));
                one.Body.EndEdit();
            }

            return flag;
        }

        // A flag, which the constructors without a parameter of the field's type set.
        private FieldDefinition NoteWhereMade(FieldDefinition field)
        {
            FieldDefinition flag = new("FreeholdMade" + field.Name, FieldAttributes.Private, assembly.Module.TypeSystem.Boolean);
            method.DeclaringType.Fields.Add(flag);
            foreach (MethodDefinition constructor in method.DeclaringType.Methods.Where(one => one.IsConstructor && !one.IsStatic && one.Parameters.All(parameter => parameter.ParameterType.FullName != field.FieldType.FullName)))
            {
                constructor.Body.BeginEdit();
                foreach (Instruction end in constructor.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Ret).ToArray())
                {
                    constructor.Body.InsertBefore(end, Emit.This(), Instruction.Create(OpCodes.Ldc_I4_1), Emit.StoreField(Of(flag)));
                }

                constructor.Body.EndEdit();
            }

            return flag;
        }

        private void Path(string path)
        {
            if (path.Split("->") is [string head, string link])
            {
                if (link.Split('^') is [string ring, string parent])
                {
                    Ring(head, ring, parent);
                }
                else
                {
                    Chain(head, link);
                }
            }
            else if (path.EndsWith('}') && path[..^1].Split('{') is [string one, { Length: > 0 } test] && test.Split('=') is [string its, string own])
            {
                Belonging(one, its, own);
            }
            else if (path.EndsWith('}') && path[..^1].Split('{') is [string children, { Length: > 0 } parent])
            {
                Children(Find(method.DeclaringType, children), parent);
            }
            else if (path.EndsWith("{}", StringComparison.Ordinal))
            {
                foreach (string call in new[] { "AddElements", "AddPart" })
                {
                    Load(path[..^2]);
                    Append(Call(call));
                }
            }
            else if (path.Split("[].") is [string array, string inner])
            {
                Structures(Find(method.DeclaringType, array), inner);
            }
            else
            {
                Load(path);
                Append(Call("AddPart"));
            }
        }

        // `a`, `a.b` of a structure or an object, each with `:T` null if it is not of the type.
        private TypeReference Load(string path)
        {
            string[] cast = path.Split(':');
            TypeReference type = LoadFields(cast[0]);
            if (cast.Length == 1)
            {
                return type;
            }

            type = Named(cast[1]);
            Append(Instruction.Create(OpCodes.Isinst, type));
            return type;
        }

        private TypeReference LoadFields(string path)
        {
            if (path.StartsWith('<') || path.Split('.') is not [string outer, string inner])
            {
                FieldDefinition whole = Find(method.DeclaringType, path);
                LoadWhole(whole);
                return whole.FieldType;
            }

            FieldDefinition holder = Find(method.DeclaringType, outer), field = Find(holder.FieldType.Resolve(), inner);
            if (holder.FieldType.IsValueType)
            {
                Append(Emit.This(), Emit.LoadAddress(Of(holder)));
            }
            else
            {
                LoadThisField(holder);
                Append(Emit.JumpIfFalse(_end));
                LoadThisField(holder);
            }

            Append(Emit.LoadField(FieldOf(holder.FieldType, field)));
            return field.FieldType;
        }

        // Of the assembly, or of the core library.
        private TypeReference Named(string name)
        {
            int dot = name.LastIndexOf('.');
            return assembly.Module.GetType(name) ?? new TypeReference(name[..dot], name[(dot + 1)..], assembly.Module, assembly.Module.TypeSystem.CoreLibrary);
        }

        // if (head != null) AddChain(head, this, ref head.link);
        private void Chain(string head, string link) => Walk("AddChain", head, link);

        // if (last != null) AddRing(last, this, ref last.link, ref last.parent);
        private void Ring(string last, string link, string parent) => Walk("AddRing", last, link, parent);

        // The injected runtime goes from node to node.
        private void Walk(string walk, string head, params string[] fields)
        {
            TypeReference type = Load(head);
            VariableDefinition first = new(type);
            method.Body.Variables.Add(first);
            Append(Emit.Store(first), Emit.Load(first), Emit.JumpIfFalse(_end), Emit.Load(first), Emit.This());
            foreach (string field in fields)
            {
                Append(Emit.Load(first), Emit.LoadAddress(FieldOf(type, Find(type.Resolve(), field))));
            }

            TypeReference place = new ByReferenceType(assembly.Module.TypeSystem.Byte);
            Append(Emit.Call(InjectedRuntime.Method(assembly, walk, assembly.Module.TypeSystem.Void, [_object, _object, .. fields.Select(_ => place)])));
        }

        // if (array != null) { for (int i = array.Length - 1; i >= 0; i--) AddPart(array[i].field); AddPart(array); }
        private void Structures(FieldDefinition array, string inner)
        {
            TypeReference element = ((ArrayType)Unmodified(array.FieldType)).ElementType;
            VariableDefinition index = new(assembly.Module.TypeSystem.Int32);
            method.Body.Variables.Add(index);
            Instruction test = Emit.Load(index), done = Emit.Label();
            LoadThisField(array);
            Append(Emit.JumpIfFalse(_end));
            LoadThisField(array);
            Append(Instruction.Create(OpCodes.Ldlen), Instruction.Create(OpCodes.Conv_I4), Emit.Store(index), test, Emit.JumpIfFalse(done));
            Append(Emit.Load(index), Instruction.Create(OpCodes.Ldc_I4_1), Instruction.Create(OpCodes.Sub), Emit.Store(index));
            LoadThisField(array);
            Append(Emit.Load(index), Instruction.Create(OpCodes.Ldelema, element));
            Append(Emit.LoadField(In(element, Find(element.Resolve(), inner))), Call("AddPart"), Emit.Jump(test), done);
            LoadThisField(array);
            Append(Call("AddPart"));
        }

        // An object: if (a is T t && t.b == this.c) AddPart(t); or a collection: AddElementsOf(a as T, this.c, &FreeholdIsChild); AddPart(a as T);
        private void Belonging(string path, string its, string own)
        {
            FieldDefinition owner = Find(method.DeclaringType, own);
            TypeReference type = Load(path);
            if (its.Contains('.', StringComparison.Ordinal))
            {
                int dot = its.LastIndexOf('.');
                LoadThisField(owner);
                Append(Instruction.Create(OpCodes.Ldftn, IsChild(Named(its[..dot]), its[(dot + 1)..])));
                Append(Emit.Call(InjectedRuntime.Method(assembly, "AddElementsOf", assembly.Module.TypeSystem.Void, _object, _object, assembly.Module.TypeSystem.IntPtr)));
                Load(path);
                Append(Call("AddPart"));
                return;
            }

            VariableDefinition single = new(type);
            method.Body.Variables.Add(single);
            Append(Emit.Store(single), Emit.Load(single), Emit.JumpIfFalse(_end), Emit.Load(single), Emit.LoadField(In(type, Find(type.Resolve(), its))));
            LoadThisField(owner);
            Append(Emit.JumpUnlessEqual(_end), Emit.Load(single), Call("AddPart"));
        }

        // AddElementsOf(collection, this, &FreeholdIsChild); AddPart(collection);
        private void Children(FieldDefinition collection, string parent)
        {
            LoadThisField(collection);
            TypeReference element = collection.FieldType is GenericInstanceType { GenericArguments: [.., TypeReference last] } ? last
                : throw new RewriteException(assembly.Name, collection.FullName, "a generic collection");
            Append(Emit.This(), Instruction.Create(OpCodes.Ldftn, IsChild(element, parent)));
            Append(Emit.Call(InjectedRuntime.Method(assembly, "AddElementsOf", assembly.Module.TypeSystem.Void, _object, _object, assembly.Module.TypeSystem.IntPtr)));
            LoadThisField(collection);
            Append(Call("AddPart"));
        }

        // static bool FreeholdIsChild(object element, object owner) => element is Element e && e.parent == owner; Element is the last type argument of the collection.
        private MethodDefinition IsChild(TypeReference element, string parent)
        {
            ModuleDefinition module = assembly.Module;
            MethodDefinition test = InjectedRuntime.AddMethod(method.DeclaringType, "FreeholdIsChild", MethodAttributes.Private, module.TypeSystem.Boolean, _object, _object);
            VariableDefinition child = new(element);
            test.Body.Variables.Add(child);
            test.Body.InitLocals = true;
            Instruction no = Instruction.Create(OpCodes.Ldc_I4_0);
            test.Body.Append(Emit.This(), Instruction.Create(OpCodes.Isinst, element), Emit.Store(child));
            test.Body.Append(Emit.Load(child), Emit.JumpIfFalse(no));
            test.Body.Append(Emit.Load(child), Emit.LoadField(In(element, Find(element.Resolve(), parent))), Instruction.Create(OpCodes.Ldarg_1));
            test.Body.Append(Instruction.Create(OpCodes.Ceq), Emit.Return(), no, Emit.Return());
            test.Body.EndEdit();
            return test;
        }

        private void LoadWhole(FieldDefinition field)
        {
            LoadThisField(field);
            if (field.FieldType is GenericParameter)
            {
                Append(Instruction.Create(OpCodes.Box, field.FieldType));  // a reference, which IL does not know
            }
        }

        private void LoadThisField(FieldDefinition field) => Append(Emit.This(), Emit.LoadField(Of(field)));

        private void Append(params IEnumerable<Instruction> instructions) => method.Body.Append(instructions);

        private Instruction Call(string name) =>
            Emit.Call(InjectedRuntime.Method(assembly, name, assembly.Module.TypeSystem.Void, _object));

        // The one of `a|b` that this version has, of the type or what it derives from.
        private FieldDefinition Find(TypeDefinition type, string names)
        {
            FieldDefinition[] found = [];
            for (TypeDefinition? one = type; one is not null && found.Length == 0; one = one.BaseType?.Resolve())
            {
                found = [.. one.Fields.Where(field => names.Split('|').Contains(field.Name))];
            }

            return found.Length == 1 ? found[0] : throw new RewriteException(assembly.Name, $"{type.FullName}::{names}", $"one such field (found {found.Length})");
        }

        private FieldReference FieldOf(TypeReference type, FieldDefinition field) => field.DeclaringType.HasGenericParameters ? In(type, field) : assembly.Module.ImportReference(field);

        private static TypeReference Unmodified(TypeReference type) => type is RequiredModifierType modified ? modified.ElementType : type;

        private static FieldReference In(TypeReference type, FieldDefinition field) => new(field.Name, field.FieldType, Unmodified(type));

        private static FieldReference Of(FieldDefinition field)
        {
            TypeDefinition type = field.DeclaringType;
            if (!type.HasGenericParameters)
            {
                return field;
            }

            GenericInstanceType self = new(type);
            foreach (GenericParameter parameter in type.GenericParameters)
            {
                self.GenericArguments.Add(parameter);
            }

            return new FieldReference(field.Name, field.FieldType, self);
        }
    }
}
