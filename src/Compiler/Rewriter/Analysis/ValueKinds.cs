using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Analysis;

/// <summary>What a value of a type is on the evaluation stack.</summary>
public static class ValueKinds
{
    /// <summary>
    /// The kind of values of a type as a member's signature names it. Signatures say of each type whether it is a value type, so that nothing needs
    /// to be resolved.
    /// </summary>
    public static StackValue OfSignature(TypeReference type, MemberReference? member = null)
    {
        switch (type)
        {
            case IModifierType modified:
                return OfSignature(modified.ElementType, member);
            case PinnedType pinned:
                return OfSignature(pinned.ElementType, member) | StackValue.Pinned;
            case SentinelType sentinel:
                return OfSignature(sentinel.ElementType, member);
            case ByReferenceType:
                return StackValue.Reference;
            case PointerType or FunctionPointerType:
                return StackValue.Number;
            case ArrayType:
                return StackValue.Object;
            case GenericParameter parameter:
                TypeReference? argument = ArgumentOf(parameter, member);
                // An argument is in terms of the caller's own parameters: not to be looked up a second time.
                return argument is null ? OfParameter(parameter) : OfSignature(argument);
            case GenericInstanceType instance:
                return instance.IsValueType ? StackValue.Number : StackValue.Object;
        }

        if (type.IsPrimitive || type.IsValueType || type.MetadataType is MetadataType.TypedByReference or MetadataType.ValueType or MetadataType.Void)
        {
            return StackValue.Number;
        }

        return type.FullName == "System.RuntimeType" ? StackValue.RuntimeType : StackValue.Object;
    }

    /// <summary>The kind of values of a type that an instruction names by itself, by a token that says nothing about it.</summary>
    public static StackValue OfToken(TypeReference type)
    {
        if (type is not TypeSpecification and not GenericParameter and not TypeDefinition && !type.IsValueType && !type.IsPrimitive)
        {
            switch (type.FullName)
            {
                case "System.Object" or "System.String":
                    return StackValue.Object;
                case "System.IntPtr" or "System.UIntPtr":
                    return StackValue.Number;
            }

            TypeDefinition? definition = Resolve(type);
            if (definition is null)
            {
                return StackValue.Unresolved;
            }

            return definition.IsValueType ? StackValue.Number : OfSignature(definition);
        }

        return OfSignature(type);
    }

    /// <summary>
    /// Whether a static field is known to lie outside the heap: one with initial data, which is in the executable, or one of numbers or of a struct
    /// that holds nothing else, which is in the module's data section. Those of threads, and those with references, are fields of objects.
    /// </summary>
    public static bool IsOutsideHeap(FieldReference field)
    {
        if (field is FieldDefinition { Attributes: var attributes } && (attributes & FieldAttributes.HasFieldRVA) != 0)
        {
            return true;
        }

        return HoldsNumbersOnly(field.FieldType)
            && field is FieldDefinition { CustomAttributes: var marks }
            && !marks.Any(mark => mark.AttributeType.FullName == "System.ThreadStaticAttribute");
    }

    // No generic ones: what their parameters stand for may hold references.
    private static bool HoldsNumbersOnly(TypeReference type) => type.IsPrimitive || type.IsPointer || type.IsFunctionPointer
        || (type is { IsValueType: true, IsGenericInstance: false } && Resolve(type) is { } definition && definition.Fields.All(field => field.IsStatic || HoldsNumbersOnly(field.FieldType)));

    /// <summary>Whether the type is a ref struct, whose values are on the stack only.</summary>
    public static bool IsByRefLike(TypeDefinition type) =>
        type.IsValueType && type.CustomAttributes.Any(mark => mark.AttributeType.FullName == "System.Runtime.CompilerServices.IsByRefLikeAttribute");

    /// <summary>The type's definition, or null where it cannot be found.</summary>
    public static TypeDefinition? Resolve(TypeReference type)
    {
        try
        {
            return type.Resolve();
        }
        catch (AssemblyResolutionException)
        {
            return null;
        }
    }

    /// <summary>What an instantiation, the member's or its type's, has in place of a parameter.</summary>
    private static TypeReference? ArgumentOf(GenericParameter parameter, MemberReference? member)
    {
        if (parameter.Type == GenericParameterType.Method)
        {
            return member is GenericInstanceMethod method ? method.GenericArguments[parameter.Position] : null;
        }

        return member?.DeclaringType is GenericInstanceType type ? type.GenericArguments[parameter.Position] : null;
    }

    private static StackValue OfParameter(GenericParameter parameter)
    {
        if (parameter.HasReferenceTypeConstraint)
        {
            return StackValue.Object;
        }

        return parameter.HasNotNullableValueTypeConstraint ? StackValue.Number : StackValue.Generic;
    }
}
