using System.Threading.Tasks;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Simplification;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>A fix of a call that is a statement of a block. It can be applied to all such calls at once.</summary>
public abstract class StatementFix : CodeFixProvider
{
    /// <inheritdoc />
    public sealed override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    /// <summary>What the fix is called in the editor.</summary>
    protected abstract string Title { get; }

    /// <inheritdoc />
    public sealed override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        foreach (Diagnostic diagnostic in context.Diagnostics)
        {
            if (root?.FindNode(diagnostic.Location.SourceSpan, getInnermostNodeForTie: true).FirstAncestorOrSelf<InvocationExpressionSyntax>() is not
                { Parent: ExpressionStatementSyntax { Parent: BlockSyntax } statement } call || Apply(root, statement, call) is not { } changed)
            {
                continue;
            }

            context.RegisterCodeFix(CodeAction.Create(Title, _ => Task.FromResult(context.Document.WithSyntaxRoot(changed)), GetType().Name), diagnostic);
        }
    }

    /// <summary>The changed file, or null where the fix does not fit.</summary>
    protected abstract SyntaxNode? Apply(SyntaxNode root, ExpressionStatementSyntax statement, InvocationExpressionSyntax call);

    /// <summary>A name that the simplifier shortens as the file's using directives allow.</summary>
    protected static ExpressionSyntax Name(string name) => SyntaxFactory.ParseExpression(name).WithAdditionalAnnotations(Simplifier.Annotation);
}
