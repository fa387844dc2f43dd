using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Importing;

/// <summary>
/// Copies members of an assembly in C# into the one that is rewritten, each when a pass or what was copied before first refers to it. A static class is filled member by
/// member, but for what other assemblies may call, which comes with it; any other injected type is copied whole, since what it overrides is called by nobody.
/// </summary>
public sealed class Importer
{
    private readonly AssemblyUnderRewrite _target;
    private readonly ImportSource _source;
    private readonly ReferenceMap _map;
    private readonly Dictionary<TypeDefinition, TypeDefinition> _types = [];
    private readonly Dictionary<MethodDefinition, MethodDefinition> _methods = [];
    private readonly Dictionary<FieldDefinition, FieldDefinition> _fields = [];

    /// <summary>An importer of one assembly into another.</summary>
    public Importer(AssemblyUnderRewrite target, ImportSource source, FrameworkNames? names)
    {
        (_target, _source, Names) = (target, source, names);
        _map = new ReferenceMap(this, target);
    }

    /// <summary>How the framework's version calls what differs.</summary>
    internal FrameworkNames? Names { get; }

    /// <summary>The copy of an injected type of this full name.</summary>
    public TypeDefinition Type(string type) => Import(SourceType(type));

    /// <summary>The copy of an injected method: the one of this name, and with these parameter types when they are given.</summary>
    public MethodDefinition Method(string type, string name, string[]? parameters = null) => Import(SourceMethod(type, name, parameters));

    /// <summary>Whether there is such a method to inject.</summary>
    public bool HasMethod(string type, string name, string[] parameters) =>
        _source.Module.GetType(type) is { } found && found.Methods.Any(method => method.Name == name && HasParameters(method, parameters));

    /// <summary>The copy of an injected field.</summary>
    public FieldDefinition Field(string type, string name) =>
        Import(SourceType(type).Fields.SingleOrDefault(field => field.Name == name) ?? throw new RewriteException($"The injected runtime has no field {type}::{name}."));

    /// <summary>Gives a method of the target the body that the source has for it.</summary>
    public MethodDefinition Replace(string type, string name, string[]? parameters = null)
    {
        MethodDefinition source = SourceMethod(type, name, parameters);
        if (!ImportSource.IsReplacement(source))
        {
            throw new RewriteException($"{source.FullName} is no replacement.");
        }

        MethodDefinition replaced = _map.MethodDefinition(source);
        _map.Pair(source, replaced);
        replaced.Body.Clear();
        Fill(source, replaced);
        return replaced;
    }

    /// <summary>The copy of an injected type.</summary>
    internal TypeDefinition Import(TypeDefinition source)
    {
        if (_types.TryGetValue(source, out TypeDefinition? copy))
        {
            return copy;
        }

        TypeDefinition? outer = source.DeclaringType is null ? null : _map.Definition(source.DeclaringType);
        if (outer is null ? _target.Module.GetType(source.FullName) is not null : outer.NestedTypes.Any(type => type.Name == source.Name))
        {
            throw Exists(source.FullName);
        }

        copy = new TypeDefinition(source.Namespace, source.Name, source.Attributes);
        _types.Add(source, copy);
        if (outer is null)
        {
            _target.Module.Types.Add(copy);
        }
        else
        {
            outer.NestedTypes.Add(copy);
        }

        ImportGenericParameters(source, copy);
        copy.BaseType = source.BaseType is null ? null : _map.Type(source.BaseType);
        foreach (InterfaceImplementation implementation in source.Interfaces)
        {
            copy.Interfaces.Add(new InterfaceImplementation(_map.Type(implementation.InterfaceType)));
        }

        bool isStatic = source.IsAbstract && source.IsSealed;
        foreach (FieldDefinition field in source.Fields.Where(_ => !isStatic))
        {
            Import(field);
        }

        foreach (MethodDefinition method in source.Methods.Where(method => !isStatic || (source.IsPublic && method.IsPublic)))
        {
            Import(method);
        }

        return copy;
    }

    /// <summary>The copy of an injected field.</summary>
    internal FieldDefinition Import(FieldDefinition source)
    {
        if (_fields.TryGetValue(source, out FieldDefinition? copy))
        {
            return copy;
        }

        if (source.HasConstant || source.InitialValue.Length > 0)
        {
            throw new RewriteException($"{source.FullName}: constants and data of the compiler cannot be injected.");
        }

        TypeDefinition owner = _map.Definition(source.DeclaringType);
        if (_fields.TryGetValue(source, out copy))
        {
            // With its type.
            return copy;
        }

        if (owner.Fields.Any(field => field.Name == source.Name))
        {
            throw Exists($"{owner.FullName}::{source.Name}");
        }

        copy = new FieldDefinition(source.Name, source.Attributes, _map.Type(source.FieldType));
        _fields.Add(source, copy);
        ImportAttributes(source, copy);
        owner.Fields.Add(copy);
        return copy;
    }

    /// <summary>The copy of an injected method, with its body.</summary>
    internal MethodDefinition Import(MethodDefinition source)
    {
        if (_methods.TryGetValue(source, out MethodDefinition? copy))
        {
            return copy;
        }

        if (ImportSource.IsDeclaration(source))
        {
            throw new RewriteException($"{source.FullName} declares a method of the framework and cannot be injected.");
        }

        TypeDefinition owner = _map.Definition(source.DeclaringType);
        if (_methods.TryGetValue(source, out copy))
        {
            // With its type.
            return copy;
        }

        string user = _map.User;
        _map.User = source.FullName;
        if (owner.Methods.Any(method => method.Name == source.Name && _map.HasSignature(method, source)))
        {
            throw Exists($"{owner.FullName}::{source.Name}");
        }

        copy = new MethodDefinition(source.Name, source.Attributes, _target.Module.TypeSystem.Void) { ImplAttributes = source.ImplAttributes, HasThis = source.HasThis };
        _methods.Add(source, copy);
        ImportGenericParameters(source, copy);
        copy.ReturnType = _map.Type(source.ReturnType);
        foreach (ParameterDefinition parameter in source.Parameters)
        {
            copy.Parameters.Add(new ParameterDefinition(parameter.Name, parameter.Attributes & ~ParameterAttributes.HasDefault, _map.Type(parameter.ParameterType)));
        }

        foreach (MethodReference overridden in source.Overrides)
        {
            copy.Overrides.Add(_map.Method(overridden));
        }

        owner.Methods.Add(copy);
        ImportAttributes(source, copy);
        if (source.HasBody)
        {
            copy.Body = new MethodBody(copy);
            Fill(source, copy);
        }
        else if (ImportSource.IsFilledByPass(source))
        {
            copy.ImplAttributes &= ~MethodImplAttributes.InternalCall;
            copy.Body = new MethodBody(copy);
        }

        _map.User = user;
        return copy;
    }

    private static bool HasParameters(MethodDefinition method, string[] parameters) => method.Parameters.Select(parameter => parameter.ParameterType.FullName).SequenceEqual(parameters);

    private void Fill(MethodDefinition source, MethodDefinition copy)
    {
        string user = _map.User;
        _map.User = source.FullName;
        new BodyCopy(_map, source, copy).Run();
        _map.User = user;
    }

    private TypeDefinition SourceType(string type) => _source.Module.GetType(type) ?? throw new RewriteException($"The injected runtime has no type {type}.");

    private MethodDefinition SourceMethod(string type, string name, string[]? parameters)
    {
        MethodDefinition[] found = [.. SourceType(type).Methods.Where(method => method.Name == name && (parameters is null || HasParameters(method, parameters)))];
        return found.Length == 1 ? found[0] : throw new RewriteException($"The injected runtime has {found.Length} methods {type}::{name}({string.Join(',', parameters ?? ["..."])}).");
    }

    private void ImportGenericParameters(IGenericParameterProvider source, IGenericParameterProvider copy)
    {
        foreach (GenericParameter parameter in source.GenericParameters)
        {
            copy.GenericParameters.Add(new GenericParameter(parameter.Name, copy) { Attributes = parameter.Attributes });
        }

        _map.Pair(source, copy);
        foreach ((GenericParameter from, GenericParameter to) in source.GenericParameters.Zip(copy.GenericParameters))
        {
            foreach (GenericParameterConstraint constraint in from.Constraints)
            {
                to.Constraints.Add(new GenericParameterConstraint(_map.Type(constraint.ConstraintType)));
            }
        }
    }

    private void ImportAttributes(ICustomAttributeProvider source, ICustomAttributeProvider copy)
    {
        foreach (CustomAttribute attribute in source.CustomAttributes.Where(attribute => !ImportSource.IsMark(attribute.AttributeType)))
        {
            CustomAttribute mapped = new(_map.Method(attribute.Constructor));
            foreach (CustomAttributeArgument argument in attribute.ConstructorArguments)
            {
                mapped.ConstructorArguments.Add(new CustomAttributeArgument(_map.Type(argument.Type), argument.Value));
            }

            copy.CustomAttributes.Add(mapped);
        }
    }

    private RewriteException Exists(string member) => new(_target.Name, member, "no such member, as it is to be injected");
}
