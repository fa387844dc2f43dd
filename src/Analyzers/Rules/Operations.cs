using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers;

/// <summary>Questions about operations that several rules ask.</summary>
internal static class Operations
{
    /// <summary>The value below conversions that give the same object.</summary>
    public static IOperation Unconverted(this IOperation value)
    {
        while (value is IConversionOperation conversion && KeepsObject(conversion))
        {
            value = conversion.Operand;
        }

        return value;
    }

    /// <summary>The operation around a value and the conversions that give the same object.</summary>
    public static (IOperation Value, IOperation? User) Outermost(this IOperation value)
    {
        while (value.Parent is IConversionOperation conversion && KeepsObject(conversion))
        {
            value = conversion;
        }

        return (value, value.Parent);
    }

    /// <summary>The local, parameter, or field of <c>this</c> or of a class that a value is read from.</summary>
    public static ISymbol? Variable(this IOperation value) => value.Unconverted() switch
    {
        ILocalReferenceOperation local => local.Local,
        IParameterReferenceOperation parameter => parameter.Parameter,
        IFieldReferenceOperation { Instance: null or IInstanceReferenceOperation { ReferenceKind: InstanceReferenceKind.ContainingTypeInstance } } field => field.Field,
        IInstanceReferenceOperation { ReferenceKind: InstanceReferenceKind.ContainingTypeInstance, Type: { } type } => type,
        _ => null,
    };

    /// <summary>Whether the outcome of a comparison of references says nothing of the object: such a comparison never throws.</summary>
    public static bool IsReferenceComparison(this IBinaryOperation comparison)
    {
        if (comparison.OperatorKind is not (BinaryOperatorKind.Equals or BinaryOperatorKind.NotEquals))
        {
            return false;
        }

        if (comparison.LeftOperand.ConstantValue is { HasValue: true, Value: null } || comparison.RightOperand.ConstantValue is { HasValue: true, Value: null })
        {
            return true;
        }

        return comparison.OperatorMethod is null && comparison.LeftOperand.Type is { IsReferenceType: true, SpecialType: not SpecialType.System_String, TypeKind: not TypeKind.Delegate };
    }

    /// <summary>Whether control leaves the loop right after a statement: by a jump that ends the block of the statement, or a block between it and the loop.</summary>
    public static bool IsFollowedByJump(SyntaxNode statement, SyntaxNode loop)
    {
        for (SyntaxNode? node = statement; node is not null && node != loop; node = node.Parent)
        {
            SyntaxList<StatementSyntax> siblings = node.Parent switch
            {
                BlockSyntax block => block.Statements,
                SwitchSectionSyntax section => section.Statements,
                _ => default,
            };
            if (siblings.Count > 0 && node is StatementSyntax inside && siblings.IndexOf(inside) is var index && index >= 0)
            {
                StatementSyntax last = siblings[siblings.Count - 1];
                if (last is BreakStatementSyntax ? Left(last) == loop : last.Kind() is SyntaxKind.ReturnStatement or SyntaxKind.ThrowStatement or SyntaxKind.GotoStatement)
                {
                    return true;
                }
            }
        }

        return false;
    }

    // What a 'break' leaves.
    private static SyntaxNode? Left(SyntaxNode jump) =>
        jump.Ancestors().FirstOrDefault(node => node is CommonForEachStatementSyntax or ForStatementSyntax or WhileStatementSyntax or DoStatementSyntax or SwitchStatementSyntax);

    // Also those that only give 'new()' and '[...]' their type.
    private static bool KeepsObject(IConversionOperation conversion) => conversion.OperatorMethod is null
        && (conversion.Conversion.IsIdentity || conversion.Conversion.IsReference || (conversion.Type?.IsReferenceType == true && SymbolEqualityComparer.Default.Equals(conversion.Type, conversion.Operand.Type)));

    /// <summary>What the program wrote, shortened.</summary>
    public static string Text(this IOperation value) => value.Syntax.ToString() is { Length: <= 60 } text ? text : value.Syntax.ToString().Substring(0, 57) + "...";
}
