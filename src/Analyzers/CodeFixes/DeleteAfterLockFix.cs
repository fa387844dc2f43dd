using System.Collections.Immutable;
using System.Composition;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Formatting;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>Moves a deletion that ends a lock's block behind the lock.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class DeleteAfterLockFix : StatementFix
{
    /// <inheritdoc />
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = ["FH1010"];

    /// <inheritdoc />
    protected override string Title => "Delete after the lock";

    /// <inheritdoc />
    protected override SyntaxNode? Apply(SyntaxNode root, ExpressionStatementSyntax statement, InvocationExpressionSyntax call)
    {
        if (statement.Parent is not BlockSyntax { Parent: LockStatementSyntax { Parent: BlockSyntax } around } block || block.Statements.Last() != statement)
        {
            return null;
        }

        LockStatementSyntax shorter = around.WithStatement(block.WithStatements(block.Statements.Remove(statement)));
        return root.ReplaceNode(around, [shorter, statement.WithAdditionalAnnotations(Formatter.Annotation)]);
    }
}
