using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
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
        root.RemoveNode(statement, SyntaxRemoveOptions.KeepUnbalancedDirectives);
}
