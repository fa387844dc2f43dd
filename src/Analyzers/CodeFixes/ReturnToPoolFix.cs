using System.Collections.Immutable;
using System.Composition;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Syntax;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>Returns an array to the pool that the same method has rented it from.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class ReturnToPoolFix : StatementFix
{
    /// <inheritdoc />
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = ["FH1007"];

    /// <inheritdoc />
    protected override string Title => "Return the array to its pool";

    /// <inheritdoc />
    protected override SyntaxNode? Apply(SyntaxNode root, ExpressionStatementSyntax statement, InvocationExpressionSyntax call)
    {
        // With several pools in one method, which of them it is stays for the author to say.
        MemberAccessExpressionSyntax[]? rents = call.FirstAncestorOrSelf<MemberDeclarationSyntax>()?.DescendantNodes().OfType<MemberAccessExpressionSyntax>()
            .Where(access => access.Name.Identifier.ValueText == "Rent" && access.Parent is InvocationExpressionSyntax).ToArray();
        if (rents is null || rents.Length == 0 || rents.Any(rent => !SyntaxFactory.AreEquivalent(rent.Expression, rents[0].Expression)))
        {
            return null;
        }

        MemberAccessExpressionSyntax member = rents[0].WithName(SyntaxFactory.IdentifierName("Return"));
        return root.ReplaceNode(call.Expression, member.WithTriviaFrom(call.Expression));
    }
}
