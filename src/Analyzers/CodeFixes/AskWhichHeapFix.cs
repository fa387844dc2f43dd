using System.Collections.Immutable;
using System.Composition;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Formatting;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>Makes a call depend on <c>Heap.IsManual</c>.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class AskWhichHeapFix : StatementFix
{
    /// <inheritdoc />
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = ["FH1017"];

    /// <inheritdoc />
    protected override string Title => "Call only on Freehold's heap";

    /// <inheritdoc />
    protected override SyntaxNode? Apply(SyntaxNode root, ExpressionStatementSyntax statement, InvocationExpressionSyntax call) => root.ReplaceNode(
        statement,
        SyntaxFactory.IfStatement(Name("global::System.Heap.IsManual"), SyntaxFactory.Block(statement.WithoutTrivia())).WithTriviaFrom(statement).WithAdditionalAnnotations(Formatter.Annotation));
}
