using System.Collections.Immutable;
using System.Composition;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>Removes a deletion that can only throw.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class RemoveDeletionFix : StatementFix
{
    /// <inheritdoc />
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = ["FH1003", "FH1005"];

    /// <inheritdoc />
    protected override string Title => "Remove the deletion";

    /// <inheritdoc />
    protected override SyntaxNode? Apply(SyntaxNode root, ExpressionStatementSyntax statement, InvocationExpressionSyntax call) =>
        call.ArgumentList.DescendantNodes().Any(HasEffect) ? null : root.RemoveNode(statement, SyntaxRemoveOptions.KeepUnbalancedDirectives);

    // What the argument does besides would be lost.
    private static bool HasEffect(SyntaxNode node) => node is InvocationExpressionSyntax or BaseObjectCreationExpressionSyntax or AssignmentExpressionSyntax or AwaitExpressionSyntax
        || node.Kind() is SyntaxKind.PreIncrementExpression or SyntaxKind.PreDecrementExpression or SyntaxKind.PostIncrementExpression or SyntaxKind.PostDecrementExpression;
}
