using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.FlowAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers.Flow;

/// <summary>Where an object comes from, as far as the expression that gives it tells.</summary>
internal static class Origins
{
    /// <summary>One of the origins of <see cref="Facts"/>; none for null.</summary>
    public static Facts Of(IOperation value, HeapSymbols heap)
    {
        value = value.Unconverted();
        if (value.ConstantValue.HasValue)
        {
            return value.ConstantValue.Value is null ? Facts.None : Facts.Runtime;
        }

        if (HeapSymbols.IsOrDerivesFrom(value.Type, heap.Type) || HeapSymbols.IsOrDerivesFrom(value.Type, heap.Thread))
        {
            return Facts.Runtime;
        }

        return value switch
        {
            IDefaultValueOperation { Type.IsReferenceType: true } => Facts.None,
            IInvocationOperation call when heap.IsRent(call.TargetMethod) => Facts.Pooled,
            // The compiler keeps those that capture nothing in a static field, and makes each of them once; not where 'new' is written, nor before C# 11 where a method is named.
            IDelegateCreationOperation { Target: IFlowAnonymousFunctionOperation { Symbol: { IsStatic: true } }, Syntax: not BaseObjectCreationExpressionSyntax } => Facts.Static,
            IDelegateCreationOperation { Target: IMethodReferenceOperation { Method: { IsStatic: true, MethodKind: MethodKind.Ordinary }, Instance: null }, Syntax: { SyntaxTree.Options: CSharpParseOptions { LanguageVersion: >= LanguageVersion.CSharp11 } } and not BaseObjectCreationExpressionSyntax } => Facts.Static,
            IFieldReferenceOperation { Field: { IsStatic: true, IsReadOnly: true } field } => field.ContainingType.SpecialType == SpecialType.System_String ? Facts.Runtime : Facts.Static,
            _ => Facts.Other,
        };
    }

    /// <summary>Names the kind of an object of the runtime.</summary>
    public static string Describe(IOperation value, HeapSymbols heap)
    {
        ITypeSymbol? type = value.Unconverted().Type;
        return type?.SpecialType == SpecialType.System_String ? "a literal" : HeapSymbols.IsOrDerivesFrom(type, heap.Thread) ? "a Thread" : HeapSymbols.IsOrDerivesFrom(type, heap.Type) ? "a Type" : "an object of the runtime";
    }
}
