using System.Collections.Immutable;
using System.Composition;
using System.Linq;
using System.Threading.Tasks;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Formatting;
using Microsoft.CodeAnalysis.Simplification;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>Deletes what a local refers to after its last use, or with a scope.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class DropFix : CodeFixProvider
{
    private const string DeleteTitle = "Delete the object after its last use";
    private const string ScopeTitle = "Delete what is allocated from here on, with a scope";

    /// <inheritdoc />
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = ["FH1011"];

    // Two fixes of one block change the same statements.
    /// <inheritdoc />
    public override FixAllProvider? GetFixAllProvider() => null;

    /// <inheritdoc />
    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        SemanticModel? model = await context.Document.GetSemanticModelAsync(context.CancellationToken).ConfigureAwait(false);
        foreach (Diagnostic diagnostic in context.Diagnostics)
        {
            if (model is null || root?.FindNode(diagnostic.Location.SourceSpan) is not VariableDeclaratorSyntax { Parent.Parent: LocalDeclarationStatementSyntax { Parent: BlockSyntax block } declaration } local)
            {
                continue;
            }

            if (WithDeletion(model, block, declaration, local.Identifier.ValueText) is { } deleting)
            {
                context.RegisterCodeFix(CodeAction.Create(DeleteTitle, _ => Task.FromResult(context.Document.WithSyntaxRoot(root.ReplaceNode(block, deleting))), DeleteTitle), diagnostic);
            }

            if (!Suspends(block))
            {
                BlockSyntax scoped = WithScope(block, declaration);
                context.RegisterCodeFix(CodeAction.Create(ScopeTitle, _ => Task.FromResult(context.Document.WithSyntaxRoot(root.ReplaceNode(block, scoped))), ScopeTitle), diagnostic);
            }
        }
    }

    private static BlockSyntax? WithDeletion(SemanticModel model, BlockSyntax block, LocalDeclarationStatementSyntax declaration, string local)
    {
        int first = block.Statements.IndexOf(declaration);
        StatementSyntax last = block.Statements.Skip(first).Last(statement => Mentions(statement, local));
        int end = block.Statements.IndexOf(last);

        // A jump on the way would pass the deletion by.
        if (block.Statements.Skip(first).Take(end - first + 1).Any(statement => statement.DescendantNodes(Inside).Any(IsJump) || (statement != last && IsJump(statement))))
        {
            return null;
        }

        StatementSyntax deletion = SyntaxFactory.ParseStatement($"global::System.Heap.Delete({local});").WithTrailingTrivia(SyntaxFactory.ElasticLineFeed)
            .WithAdditionalAnnotations(Simplifier.Annotation, Formatter.Annotation);
        deletion = deletion.ReplaceNode(Callee(deletion), Callee(deletion).WithAdditionalAnnotations(Simplifier.Annotation));
        switch (last)
        {
            case ReturnStatementSyntax { Expression: { } value } returning:
                string name = Free(block, "result");
                if (TypeOf(model, value) is not { } type)
                {
                    return null;
                }

                StatementSyntax kept = SyntaxFactory.ParseStatement($"{type} {name} = {value.WithoutTrivia()};").WithLeadingTrivia(last.GetLeadingTrivia()).WithTrailingTrivia(SyntaxFactory.ElasticLineFeed);
                ReturnStatementSyntax result = returning.WithExpression(SyntaxFactory.IdentifierName(name)).WithLeadingTrivia(SyntaxFactory.ElasticMarker);
                SyntaxList<StatementSyntax> statements = block.Statements.RemoveAt(end)
                    .InsertRange(end, [kept.WithAdditionalAnnotations(Formatter.Annotation), deletion, result.WithAdditionalAnnotations(Formatter.Annotation)]);
                return block.WithStatements(statements);
            case ThrowStatementSyntax:
            case var jump when IsJump(jump):
                return null;
            default:
                return block.WithStatements(block.Statements.Insert(end + 1, deletion));
        }
    }

    // Without the 'return', the expression may have no type of its own, or another one.
    private static string? TypeOf(SemanticModel model, ExpressionSyntax value)
    {
        TypeInfo info = model.GetTypeInfo(value);
        if (info.ConvertedType is not { } type || value is RefExpressionSyntax)
        {
            return null;
        }

        ExpressionSyntax inner = value;
        while (inner is ParenthesizedExpressionSyntax parenthesized)
        {
            inner = parenthesized.Expression;
        }

        // 'new(…)' has the type that it is converted to, but gives a 'var' none.
        return SymbolEqualityComparer.Default.Equals(info.Type, type) && inner is not ImplicitObjectCreationExpressionSyntax ? "var" : type.ToMinimalDisplayString(model, value.SpanStart);
    }

    private static BlockSyntax WithScope(BlockSyntax block, LocalDeclarationStatementSyntax declaration)
    {
        StatementSyntax scope = SyntaxFactory.ParseStatement($"using var {Free(block, "scope")} = global::System.Heap.Scope();").WithTrailingTrivia(SyntaxFactory.ElasticLineFeed)
            .WithAdditionalAnnotations(Simplifier.Annotation, Formatter.Annotation);
        scope = scope.ReplaceNode(Callee(scope), Callee(scope).WithAdditionalAnnotations(Simplifier.Annotation));
        return block.WithStatements(block.Statements.Insert(block.Statements.IndexOf(declaration), scope));
    }

    private static ExpressionSyntax Callee(StatementSyntax statement) => ((MemberAccessExpressionSyntax)statement.DescendantNodes().OfType<InvocationExpressionSyntax>().First().Expression).Expression;

    private static bool Mentions(SyntaxNode node, string local) =>
        node.DescendantNodes().Any(part => (part is IdentifierNameSyntax name && name.Identifier.ValueText == local) || (part is VariableDeclaratorSyntax declarator && declarator.Identifier.ValueText == local));

    private static bool Inside(SyntaxNode node) => node is not AnonymousFunctionExpressionSyntax and not LocalFunctionStatementSyntax;

    private static bool IsJump(SyntaxNode node) =>
        node.Kind() is SyntaxKind.ReturnStatement or SyntaxKind.GotoStatement or SyntaxKind.BreakStatement or SyntaxKind.ContinueStatement or SyntaxKind.YieldBreakStatement;

    // A scope cannot be open while its method waits.
    private static bool Suspends(SyntaxNode block)
    {
        SyntaxNode? function = block.Ancestors().FirstOrDefault(node => node is BaseMethodDeclarationSyntax or LocalFunctionStatementSyntax or AnonymousFunctionExpressionSyntax or AccessorDeclarationSyntax);
        return function is null || function.DescendantTokens().Any(token => token.Kind() is SyntaxKind.AsyncKeyword or SyntaxKind.YieldKeyword);
    }

    private static string Free(SyntaxNode block, string name)
    {
        SyntaxNode around = block.Ancestors().OfType<MemberDeclarationSyntax>().FirstOrDefault() ?? block;
        var taken = around.DescendantTokens().Where(token => token.IsKind(SyntaxKind.IdentifierToken)).Select(token => token.ValueText).ToImmutableHashSet();
        string free = name;
        for (int i = 1; taken.Contains(free); i++)
        {
            free = name + i;
        }

        return free;
    }
}
