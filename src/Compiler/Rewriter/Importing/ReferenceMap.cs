using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Importing;

/// <summary>
/// Leads from references in the source to what they are in the target: a declaration, and a reference to another assembly, to the member of the same name and
/// signature, which must exist; an injected member to its copy.
/// </summary>
internal sealed class ReferenceMap(Importer importer, AssemblyUnderRewrite target)
{
    private readonly Dictionary<GenericParameter, GenericParameter> _parameters = [];
    private readonly Dictionary<TypeDefinition, TypeDefinition> _declared = [];

    /// <summary>Who is being copied, for messages.</summary>
    public string User { get; set; } = "";

    /// <summary>Says that the parameters of a generic member of the source are those of its copy.</summary>
    public void Pair(IGenericParameterProvider source, IGenericParameterProvider copy)
    {
        foreach ((GenericParameter from, GenericParameter to) in source.GenericParameters.Zip(copy.GenericParameters))
        {
            _parameters[from] = to;
        }
    }

    /// <summary>A type.</summary>
    public TypeReference Type(TypeReference type)
    {
        switch (type)
        {
            case GenericParameter parameter:
                return _parameters.GetValueOrDefault(parameter) ?? throw Missing(parameter.FullName, "a generic parameter of a member that is copied");
            case ByReferenceType reference:
                return new ByReferenceType(Type(reference.ElementType));
            case PointerType pointer:
                return new PointerType(Type(pointer.ElementType));
            case PinnedType pinned:
                return new PinnedType(Type(pinned.ElementType));
            case ArrayType { IsVector: true } array:
                return new ArrayType(Type(array.ElementType));
            case RequiredModifierType required:
                return new RequiredModifierType(Type(required.ModifierType), Type(required.ElementType));
            case GenericInstanceType instance:
                GenericInstanceType mapped = new(Type(instance.ElementType));
                foreach (TypeReference argument in instance.GenericArguments)
                {
                    mapped.GenericArguments.Add(Type(argument));
                }

                return mapped;
            case TypeSpecification:
                throw Missing(type.FullName, $"a kind of type that can be copied (found {type.GetType().Name})");
            default:
                return Primitive(type) ?? Definition(type);
        }
    }

    /// <summary>A class, struct or interface.</summary>
    public TypeDefinition Definition(TypeReference type)
    {
        if (type is not TypeDefinition definition)
        {
            return InTarget(type.FullName);
        }

        if (!ImportSource.IsDeclaration(definition))
        {
            return importer.Import(definition);
        }

        if (!_declared.TryGetValue(definition, out TypeDefinition? declared))
        {
            declared = InTarget(ImportSource.NameOf(definition, importer.Names));
            Require(definition, declared);
            Pair(definition, declared);
            _declared.Add(definition, declared);
        }

        return declared;
    }

    /// <summary>A method.</summary>
    public MethodReference Method(MethodReference method)
    {
        if (method is GenericInstanceMethod generic)
        {
            GenericInstanceMethod instance = new(Method(generic.ElementMethod));
            foreach (TypeReference argument in generic.GenericArguments)
            {
                instance.GenericArguments.Add(Type(argument));
            }

            return instance;
        }

        MethodDefinition definition = MethodDefinition(method);
        if (method.DeclaringType is not GenericInstanceType)
        {
            return definition;
        }

        MethodReference mapped = new(definition.Name, definition.ReturnType, Type(method.DeclaringType)) { HasThis = definition.HasThis, ExplicitThis = definition.ExplicitThis };
        foreach (ParameterDefinition parameter in definition.Parameters)
        {
            mapped.Parameters.Add(new ParameterDefinition(parameter.ParameterType));
        }

        foreach (GenericParameter parameter in definition.GenericParameters)
        {
            mapped.GenericParameters.Add(new GenericParameter(parameter.Name, mapped));
        }

        return mapped;
    }

    /// <summary>The method itself, without type arguments.</summary>
    public MethodDefinition MethodDefinition(MethodReference method)
    {
        if (method.DeclaringType is ArrayType)
        {
            throw Missing(method.FullName, "arrays of one dimension");
        }

        TypeReference type = method.DeclaringType.GetElementType();
        MethodDefinition? source = type is TypeDefinition ? method.Resolve() : null;
        return source is not null && !ImportSource.IsDeclaration(source)
            ? importer.Import(source)
            : Find(Definition(type), source ?? method, source is null ? method.Name : ImportSource.NameOf(source, importer.Names));
    }

    /// <summary>A field.</summary>
    public FieldReference Field(FieldReference field)
    {
        TypeReference type = field.DeclaringType.GetElementType();
        FieldDefinition? source = type is TypeDefinition ? field.Resolve() : null;
        FieldDefinition definition;
        if (source is not null && !ImportSource.IsDeclaration(source))
        {
            definition = importer.Import(source);
        }
        else
        {
            TypeDefinition owner = Definition(type);
            string name = source is null ? field.Name : ImportSource.NameOf(source, importer.Names);
            FieldReference declared = source ?? field;
            definition = owner.Fields.FirstOrDefault(candidate => candidate.Name == name && IsSame(declared.FieldType, candidate.FieldType) && (source is null || source.IsStatic == candidate.IsStatic))
                ?? throw Missing($"{owner.FullName}::{name}", $"a{(source?.IsStatic == true ? " static" : "")} field of type {Display(declared.FieldType)} (found {owner.Fields.FirstOrDefault(candidate => candidate.Name == name)?.FieldType.FullName ?? "none"})");
        }

        return field.DeclaringType is GenericInstanceType ? new FieldReference(definition.Name, definition.FieldType, Type(field.DeclaringType)) : definition;
    }

    /// <summary>The one method of a type that has this name and the signature of a method of the source.</summary>
    public MethodDefinition Find(TypeDefinition type, MethodReference source, string name)
    {
        MethodDefinition[] found = [.. type.Methods.Where(candidate => candidate.Name == name && HasSignature(candidate, source))];
        return found.Length == 1
            ? found[0]
            : throw Missing(
                $"{type.FullName}::{name}({string.Join(',', source.Parameters.Select(parameter => Display(parameter.ParameterType)))})",
                $"one such {(source.HasThis ? "instance" : "static")} method that returns {Display(source.ReturnType)} (found {found.Length})");
    }

    /// <summary>Whether a method of the target has the signature of one of the source.</summary>
    public bool HasSignature(MethodDefinition candidate, MethodReference source) =>
        candidate.HasThis == source.HasThis && candidate.GenericParameters.Count == source.GenericParameters.Count && candidate.Parameters.Count == source.Parameters.Count
        && (IsSame(source.ReturnType, candidate.ReturnType) || candidate.IsConstructor)
        && source.Parameters.Zip(candidate.Parameters).All(pair => IsSame(pair.First.ParameterType, pair.Second.ParameterType));

    /// <summary>The error for what the target does not have, which names who needs it.</summary>
    public RewriteException Missing(string member, string expected) => new(target.Name, User.Length == 0 ? member : $"{member}, which {User} needs", expected);

    // As types are compared in signatures: without looking at what they are.
    private bool IsSame(TypeReference source, TypeReference candidate) => (source, candidate) switch
    {
        (GenericParameter left, GenericParameter right) => left.Position == right.Position && left.Type == right.Type,
        (GenericInstanceType left, GenericInstanceType right) => IsSame(left.ElementType, right.ElementType)
            && left.GenericArguments.Count == right.GenericArguments.Count && left.GenericArguments.Zip(right.GenericArguments).All(pair => IsSame(pair.First, pair.Second)),
        (RequiredModifierType left, RequiredModifierType right) => IsSame(left.ModifierType, right.ModifierType) && IsSame(left.ElementType, right.ElementType),
        (ArrayType left, ArrayType right) => left.Rank == right.Rank && IsSame(left.ElementType, right.ElementType),
        (TypeSpecification left, TypeSpecification right) => left.GetType() == right.GetType() && IsSame(left.ElementType, right.ElementType),
        (TypeSpecification, _) or (_, TypeSpecification) or (GenericParameter, _) or (_, GenericParameter) => false,
        _ => Display(source) == candidate.FullName,
    };

    private string Display(TypeReference source) => source is TypeDefinition definition ? ImportSource.NameOf(definition, importer.Names) : source.FullName;

    private TypeDefinition InTarget(string name) => target.Module.GetType(name) ?? throw Missing(name, "a type of this name");

    // What the compiler takes from a declaration must be so: a class or a struct, and the values of constants.
    private void Require(TypeDefinition source, TypeDefinition declared)
    {
        if (source.IsValueType != declared.IsValueType || source.GenericParameters.Count != declared.GenericParameters.Count)
        {
            throw Missing(declared.FullName, $"a {(source.IsValueType ? "struct" : "class")} with {source.GenericParameters.Count} type parameters");
        }

        foreach (FieldDefinition constant in source.Fields.Where(field => field.HasConstant && ImportSource.IsDeclaration(field)))
        {
            object? found = declared.Fields.FirstOrDefault(field => field.Name == constant.Name)?.Constant;
            if (!Equals(found, constant.Constant))
            {
                throw Missing($"{declared.FullName}::{constant.Name}", $"the constant {constant.Constant} (found {found ?? "none"})");
            }
        }
    }

    // These are no tokens in signatures.
    private TypeReference? Primitive(TypeReference type)
    {
        TypeSystem types = target.Module.TypeSystem;
        return type.MetadataType switch
        {
            MetadataType.Void => types.Void,
            MetadataType.Boolean => types.Boolean,
            MetadataType.Char => types.Char,
            MetadataType.SByte => types.SByte,
            MetadataType.Byte => types.Byte,
            MetadataType.Int16 => types.Int16,
            MetadataType.UInt16 => types.UInt16,
            MetadataType.Int32 => types.Int32,
            MetadataType.UInt32 => types.UInt32,
            MetadataType.Int64 => types.Int64,
            MetadataType.UInt64 => types.UInt64,
            MetadataType.Single => types.Single,
            MetadataType.Double => types.Double,
            MetadataType.IntPtr => types.IntPtr,
            MetadataType.UIntPtr => types.UIntPtr,
            MetadataType.String => types.String,
            MetadataType.Object => types.Object,
            MetadataType.TypedByReference => types.TypedReference,
            _ => null,
        };
    }
}
