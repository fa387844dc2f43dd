using System.Collections.Immutable;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers;

/// <summary>Objects whose own members give nobody else a reference to them: arrays, and collections and builders of the framework.</summary>
internal static class HeldObject
{
    // A smaller array may be on the stack, where a deletion would not leave it.
    private const int SmallestArray = 33;

    private static readonly ImmutableHashSet<string> s_types = ImmutableHashSet.Create(
        "List", "Dictionary", "HashSet", "Queue", "Stack", "PriorityQueue", "LinkedList", "SortedDictionary", "SortedSet", "SortedList", "OrderedDictionary", "BitArray", "StringBuilder", "MemoryStream", "StringWriter");

    private static readonly ImmutableHashSet<string> s_handingOut = ImmutableHashSet.Create("GetBuffer", "TryGetBuffer", "GetStringBuilder", "CopyTo", "WriteTo", "GetObjectData", "SyncRoot");

    /// <summary>Whether an expression makes such an object.</summary>
    public static bool IsMade(IOperation? value) => value?.Unconverted() switch
    {
        IObjectCreationOperation { Type: INamedTypeSymbol type } => IsHolder(type),
        IArrayCreationOperation { DimensionSizes.Length: 1 } array when array.DimensionSizes[0].ConstantValue is { HasValue: true, Value: int length } => length >= SmallestArray,
        IArrayCreationOperation => true,
        ICollectionExpressionOperation { Type: INamedTypeSymbol type, Elements.Length: > 0 } => IsHolder(type),
        _ => false,
    };

    public static bool IsHolder(ITypeSymbol? type) => type is IArrayTypeSymbol
        || (type is INamedTypeSymbol named && s_types.Contains(named.Name) && named.ContainingNamespace.ToDisplayString() is "System.Collections.Generic" or "System.Collections" or "System.Text" or "System.IO");

    /// <summary>Whether a use of a variable leaves its object with that variable only.</summary>
    public static bool IsContained(IOperation reference, ITypeSymbol made)
    {
        (IOperation value, IOperation? user) = reference.Outermost();
        switch (user)
        {
            case IInvocationOperation call when call.Instance == value:
                // These give their receiver back; a set may give a view.
                return SymbolEqualityComparer.Default.Equals(call.Type, made) ? made.Name is "StringBuilder" or "BitArray" && IsDroppedOrContained(call, made)
                    : !s_handingOut.Contains(call.TargetMethod.Name) && IsHarmless(call.Type, made);
            case IPropertyReferenceOperation property when property.Instance == value:
                return !s_handingOut.Contains(property.Property.Name) && IsHarmless(property.Type, made) && !property.Property.ReturnsByRef;
            case IArrayElementReferenceOperation element when element.ArrayReference == value:
                return !IsByReference(element);
            case IForEachLoopOperation loop when loop.Collection == value:
                return true;
            case IBinaryOperation comparison:
                return comparison.IsReferenceComparison();
            case IIsPatternOperation { Pattern: IConstantPatternOperation }:
                return true;
            case IExpressionStatementOperation:
                return true;
            default:
                return false;
        }
    }

    private static bool IsDroppedOrContained(IInvocationOperation call, ITypeSymbol made) => call.Parent is IExpressionStatementOperation || IsContained(call, made);

    // A reference to an element, or to a field of it, leads to the array.
    private static bool IsByReference(IOperation element)
    {
        while (element.Parent is IFieldReferenceOperation field && field.Instance == element && element.Type?.IsValueType == true)
        {
            element = field;
        }

        return element.Syntax.Parent is RefExpressionSyntax || element.Parent is IAddressOfOperation or IArgumentOperation { Parameter.RefKind: not RefKind.None };
    }

    // Numbers, text, elements, and copies of elements.
    private static bool IsHarmless(ITypeSymbol? type, ITypeSymbol made)
    {
        if (type is null || type.SpecialType is (>= SpecialType.System_Void and <= SpecialType.System_UIntPtr) or SpecialType.System_DateTime || type.TypeKind == TypeKind.Enum)
        {
            return true;
        }

        if (type is IArrayTypeSymbol { ElementType: var copied })
        {
            return made is INamedTypeSymbol && (IsElement(copied, made) || copied.SpecialType == SpecialType.System_Byte);
        }

        return IsElement(type, made);
    }

    private static bool IsElement(ITypeSymbol type, ITypeSymbol made) => made switch
    {
        IArrayTypeSymbol array => SymbolEqualityComparer.Default.Equals(array.ElementType, type),
        INamedTypeSymbol named => named.TypeArguments.Any(argument => SymbolEqualityComparer.Default.Equals(argument, type)),
        _ => false,
    };
}
