using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>All assemblies that a program can consist of: which code a call may reach, what a type is. NativeAOT loads no other code.</summary>
public sealed partial class ClosedWorld : IDisposable
{
    private readonly AssembliesByName _resolver = new();
    private readonly List<string> _files = [];
    private readonly HashSet<string> _applications = [];
    private readonly Dictionary<MethodReference, MethodDefinition?> _methods = [];
    private readonly Dictionary<TypeReference, TypeDefinition?> _types = [];
    private readonly Dictionary<FieldReference, FieldDefinition?> _fields = [];
    private readonly Dictionary<TypeDefinition, bool> _plain = [];
    private readonly Dictionary<MethodDefinition, IReadOnlyList<MethodDefinition>?> _candidates = [];
    private readonly Dictionary<string, TypeReference> _others = [];
    private readonly Dictionary<MethodDefinition, bool> _defaults = [];
    private Dictionary<TypeDefinition, List<TypeDefinition>>? _derived;
    private bool _isComplete = true;

    /// <summary>The assemblies in these folders, and those files.</summary>
    public ClosedWorld(IEnumerable<string> folders, params IEnumerable<string> files)
    {
        HashSet<string> names = [];
        foreach (string file in files)
        {
            Add(file);
            _applications.Add(Path.GetFileNameWithoutExtension(file));
            _resolver.AddSearchDirectory(Path.GetDirectoryName(Path.GetFullPath(file))!);
        }

        foreach (string folder in folders)
        {
            _resolver.AddSearchDirectory(folder);
            foreach (string file in Directory.EnumerateFiles(folder, "*.dll").Order(StringComparer.Ordinal))
            {
                Add(file);
            }
        }

        void Add(string file)
        {
            if (names.Add(Path.GetFileName(file)))
            {
                _files.Add(file);
            }
        }
    }

    /// <inheritdoc/>
    public void Dispose() => _resolver.Dispose();

    /// <summary>An assembly of the world by its file.</summary>
    public ModuleDefinition Read(string file) => _resolver.Resolve(new AssemblyNameReference(Path.GetFileNameWithoutExtension(file), null)).MainModule;

    /// <summary>Whether a type is not the application's.</summary>
    public bool IsFramework(TypeDefinition type) => !_applications.Contains(type.Module.Assembly.Name.Name);

    /// <summary>The method, or null when it is missing or the runtime makes it (of arrays).</summary>
    public MethodDefinition? Resolve(MethodReference method) => method as MethodDefinition ?? Cached(_methods, method, static one => one.DeclaringType is ArrayType ? null : one.Resolve());

    /// <summary>The type, or null when it is missing.</summary>
    public TypeDefinition? Resolve(TypeReference type) => type as TypeDefinition ?? Cached(_types, type, static one => one.Resolve());

    /// <summary>The field, or null when it is missing.</summary>
    public FieldDefinition? Resolve(FieldReference field) => field as FieldDefinition ?? Cached(_fields, field, static one => one.Resolve());

    private TDefinition? Cached<TReference, TDefinition>(Dictionary<TReference, TDefinition?> cache, TReference reference, Func<TReference, TDefinition?> resolve)
        where TReference : notnull
        where TDefinition : class
    {
        if (!cache.TryGetValue(reference, out TDefinition? definition))
        {
            try
            {
                definition = resolve(reference);
            }
            catch (AssemblyResolutionException)
            {
                // A reference that the program does not bring: nothing is known of it, nor what derives from it.
                definition = null;
                _isComplete = false;
            }

            cache[reference] = definition;
        }

        return definition;
    }

    /// <summary>The one object that stands for a type, whoever refers to it; of generic types for all instances.</summary>
    public TypeReference Canonical(TypeReference type)
    {
        if (type is not ArrayType && Resolve(type) is { } definition)
        {
            return definition;
        }

        if (!_others.TryGetValue(type.FullName, out TypeReference? known))
        {
            _others[type.FullName] = known = type;
        }

        return known;
    }

    /// <summary>The type and its bases, as far as they are known.</summary>
    public IEnumerable<TypeDefinition> Hierarchy(TypeReference type)
    {
        for (TypeDefinition? at = Resolve(type); at is not null; at = at.BaseType is null ? null : Resolve(at.BaseType))
        {
            yield return at;
        }
    }

    /// <summary>Whether values of the type hold no reference and no address: numbers, and structures of them.</summary>
    public bool IsPlain(TypeReference type)
    {
        switch (type)
        {
            case IModifierType modified:
                return IsPlain(modified.ElementType);
            case PinnedType pinned:
                return IsPlain(pinned.ElementType);
            case ByReferenceType or PointerType or FunctionPointerType or ArrayType or GenericParameter or GenericInstanceType:
                return false;
        }

        switch (type.MetadataType)
        {
            case MetadataType.Void or MetadataType.Boolean or MetadataType.Char or MetadataType.SByte or MetadataType.Byte or MetadataType.Int16 or MetadataType.UInt16
                or MetadataType.Int32 or MetadataType.UInt32 or MetadataType.Int64 or MetadataType.UInt64 or MetadataType.Single or MetadataType.Double:
                return true;
            case MetadataType.ValueType:
                break;
            default:
                // A token may say of a structure that it is a class: not known to be plain.
                if (type is not TypeDefinition { IsValueType: true })
                {
                    return false;
                }

                break;
        }

        TypeDefinition? definition = Resolve(type);
        if (definition is null || definition.FullName is "System.IntPtr" or "System.UIntPtr" or "System.TypedReference")
        {
            return false;
        }

        if (definition.IsPrimitive || definition.IsEnum)
        {
            return true;
        }

        if (!_plain.TryGetValue(definition, out bool plain))
        {
            _plain[definition] = false;
            _plain[definition] = plain = definition.Fields.All(field => field.IsStatic || IsPlain(field.FieldType));
        }

        return plain;
    }

    /// <summary>Whether values of the type are references, whatever the type parameters are.</summary>
    public bool IsReference(TypeReference type) => type switch
    {
        IModifierType modified => IsReference(modified.ElementType),
        ArrayType => true,
        GenericParameter or ByReferenceType or PointerType or FunctionPointerType or PinnedType => false,
        _ => Resolve(type) is { IsValueType: false },
    };

    /// <summary>Whether nothing hangs on what values of the type refer to: text, and arrays and spans of numbers.</summary>
    public bool HasPlainContents(TypeReference type) => type switch
    {
        IModifierType modified => HasPlainContents(modified.ElementType),
        ArrayType array => IsPlain(array.ElementType),
        GenericInstanceType { GenericArguments: [{ } element], ElementType.FullName: "System.Span`1" or "System.ReadOnlySpan`1" } => IsPlain(element),
        _ => type.MetadataType == MetadataType.String || (type is not GenericParameter && IsPlain(type)),
    };

    /// <summary>Whether objects of exactly this type may have a finalizer.</summary>
    public bool MayHaveFinalizer(TypeReference type)
    {
        if (type is ArrayType)
        {
            return false;
        }

        TypeDefinition? last = null;
        foreach (TypeDefinition at in Hierarchy(type))
        {
            last = at;
            if (at.FullName != "System.Object" && at.Methods.Any(method => method is { Name: "Finalize", IsVirtual: true } && !method.HasParameters))
            {
                return true;
            }
        }

        return last?.FullName != "System.Object";
    }

    /// <summary>Whether calls of this type are calls of a delegate.</summary>
    public bool IsDelegate(TypeReference type) => Resolve(type) is { BaseType.FullName: "System.MulticastDelegate" };

    /// <summary>What a call of a virtual method may reach in an object of exactly this type: at least the method that it does reach. Null: not known.</summary>
    public IReadOnlyList<MethodDefinition>? Targets(TypeReference type, MethodDefinition slot)
    {
        List<MethodDefinition> found = [];
        List<TypeDefinition> passed = [];
        IEnumerable<TypeDefinition> hierarchy = type is ArrayType ? ArrayClasses() : Hierarchy(type);
        foreach (TypeDefinition at in hierarchy)
        {
            MethodDefinition[] own = [.. at.Methods.Where(method => Answers(method, slot))];
            found.AddRange(own);
            found.AddRange(passed.SelectMany(derived => derived.Methods).Where(method => own.Any(one => MayOverride(method, one)) && !found.Contains(method)).ToArray());
            passed.Add(at);
            if (at == slot.DeclaringType || (found.Any(method => method.DeclaringType == at && Overrides(method, slot)) && !MayHideSlot(at, slot)))
            {
                break;
            }
        }

        if (slot.DeclaringType.IsInterface && HasDefault(slot))
        {
            return null;
        }

        return found.Count > 0 ? found : null;
    }

    // Whether a class between this one and that of the slot has a slot of its own of that name: then an override is of that one.
    private bool MayHideSlot(TypeDefinition type, MethodDefinition slot) =>
        Hierarchy(type).Skip(1).TakeWhile(at => at != slot.DeclaringType).SelectMany(at => at.Methods).Any(method => method.IsVirtual && !method.IsReuseSlot && PlainName(method.Name) == PlainName(slot.Name) && method.Parameters.Count == slot.Parameters.Count);

    // Beyond doubt: other methods of that name may be overloads, or hide it.
    private static bool Overrides(MethodDefinition method, MethodDefinition slot) =>
        !slot.DeclaringType.IsInterface && method.IsReuseSlot && !slot.HasGenericParameters && !method.HasGenericParameters && !slot.DeclaringType.HasGenericParameters && method.Name == slot.Name
        && method.Parameters.Select(parameter => parameter.ParameterType.FullName).SequenceEqual(slot.Parameters.Select(parameter => parameter.ParameterType.FullName));

    // Whether an interface brings a body for a method of another one, or of its own.
    private bool HasDefault(MethodDefinition slot)
    {
        if (!_defaults.TryGetValue(slot, out bool has))
        {
            _derived ??= FindDerived();
            HashSet<TypeDefinition> interfaces = [slot.DeclaringType];
            Stack<TypeDefinition> work = new(interfaces);
            while (!has && work.TryPop(out TypeDefinition? type))
            {
                has = type.Methods.Any(method => Answers(method, slot));
                foreach (TypeDefinition derived in _derived.GetValueOrDefault(type, []).Where(derived => derived.IsInterface && interfaces.Add(derived)))
                {
                    work.Push(derived);
                }
            }

            _defaults[slot] = has;
        }

        return has;
    }

    private IEnumerable<TypeDefinition> ArrayClasses()
    {
        ModuleDefinition coreLib = _resolver.Resolve(new AssemblyNameReference("System.Private.CoreLib", null)).MainModule;
        foreach (string name in new[] { "System.Array`1", "System.Array", "System.Object" })
        {
            if (coreLib.GetType(name) is { } found)
            {
                yield return found;
            }
        }
    }

    private static bool Answers(MethodDefinition method, MethodDefinition slot) =>
        method is { IsVirtual: true, IsAbstract: false, IsStatic: false } && method.Parameters.Count == slot.Parameters.Count
        && method.GenericParameters.Count == slot.GenericParameters.Count && method.Parameters.Zip(slot.Parameters).All(pair => MayBeSame(pair.First.ParameterType, pair.Second.ParameterType))
        && (PlainName(method.Name) == PlainName(slot.Name) || method.Overrides.Any(overridden => overridden.Name == slot.Name));

    // What answers a slot has its signature, with type arguments for type parameters.
    private static bool MayBeSame(TypeReference a, TypeReference b)
    {
        (a, b) = (Unmodified(a), Unmodified(b));
        return a.ContainsGenericParameter || b.ContainsGenericParameter || a.FullName == b.FullName;
    }

    // What implements a method of an interface under another name is overridden under that.
    private static bool MayOverride(MethodDefinition method, MethodDefinition one) => method != one && one.IsVirtual && Answers(method, one);

    private IEnumerable<TypeDefinition> DerivedOf(TypeDefinition type)
    {
        _derived ??= FindDerived();
        HashSet<TypeDefinition> seen = [];
        Stack<TypeDefinition> work = new([type]);
        while (work.TryPop(out TypeDefinition? at))
        {
            foreach (TypeDefinition derived in _derived.GetValueOrDefault(at, []).Where(seen.Add))
            {
                work.Push(derived);
            }
        }

        return seen;
    }

    private static string PlainName(string name) => name.LastIndexOf('.') is > 0 and int dot ? name[(dot + 1)..] : name;

    /// <summary>What a call of a virtual method may reach, if these are not too many. Null: nobody knows.</summary>
    public IReadOnlyList<MethodDefinition>? Candidates(MethodDefinition slot, int most)
    {
        if (!_candidates.TryGetValue(slot, out IReadOnlyList<MethodDefinition>? found))
        {
            _candidates[slot] = found = FindCandidates(slot);
        }

        return found is null || found.Count > most ? null : found;
    }

    // Of an interface: what each class that has it, itself or by a base, answers with. Casts at run time use types that say so too (IDynamicInterfaceCastable).
    private List<MethodDefinition>? FindCandidates(MethodDefinition slot)
    {
        const int Most = 400;
        _derived ??= FindDerived();
        HashSet<TypeDefinition> types = [slot.DeclaringType];
        Stack<TypeDefinition> work = new(types);
        while (work.TryPop(out TypeDefinition? type))
        {
            foreach (TypeDefinition derived in _derived.GetValueOrDefault(type, []))
            {
                if (types.Add(derived))
                {
                    work.Push(derived);
                }
            }

            if (types.Count > Most)
            {
                return null;
            }
        }

        HashSet<MethodDefinition> found = [];
        foreach (TypeDefinition type in types)
        {
            IEnumerable<TypeDefinition> owners = slot.DeclaringType.IsInterface ? Hierarchy(type) : [type];
            found.UnionWith(owners.SelectMany(owner => owner.Methods).Where(method => Answers(method, slot)));
        }

        foreach (MethodDefinition one in found.Where(one => one.Name != slot.Name || slot.DeclaringType.IsInterface).ToArray())
        {
            found.UnionWith(DerivedOf(one.DeclaringType).SelectMany(derived => derived.Methods).Where(method => MayOverride(method, one)));
        }

        return found.Count == 0 && !_isComplete ? null : [.. found.OrderBy(method => method.FullName, StringComparer.Ordinal)];
    }

    // The classes, structures and interfaces that name a type as their base or interface.
    private Dictionary<TypeDefinition, List<TypeDefinition>> FindDerived()
    {
        Dictionary<TypeDefinition, List<TypeDefinition>> derived = [];
        foreach (string file in _files)
        {
            ModuleDefinition module;
            try
            {
                module = Read(file);
            }
            catch (BadImageFormatException)
            {
                continue;  // native code
            }

            foreach (TypeDefinition type in module.GetTypes())
            {
                foreach (TypeReference named in type.Interfaces.Select(implementation => implementation.InterfaceType).Append(type.BaseType))
                {
                    if (named is not null && Resolve(named) is { } definition)
                    {
                        if (!derived.TryGetValue(definition, out List<TypeDefinition>? list))
                        {
                            derived[definition] = list = [];
                        }

                        list.Add(type);
                    }
                }
            }
        }

        return derived;
    }
}
