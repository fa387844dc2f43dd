using System.Collections.Immutable;
using System.Composition;
using System.Threading.Tasks;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeActions;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Editing;
using Microsoft.CodeAnalysis.Simplification;

namespace Freehold.Analyzers.CodeFixes;

/// <summary>Marks a field <c>[Owned]</c>.</summary>
[ExportCodeFixProvider(LanguageNames.CSharp)]
[Shared]
public sealed class MarkOwnedFix : CodeFixProvider
{
    private const string Title = "Mark the field [Owned]";

    /// <inheritdoc />
    public override ImmutableArray<string> FixableDiagnosticIds { get; } = ["FH1012"];

    /// <inheritdoc />
    public override FixAllProvider GetFixAllProvider() => WellKnownFixAllProviders.BatchFixer;

    /// <inheritdoc />
    public override async Task RegisterCodeFixesAsync(CodeFixContext context)
    {
        SyntaxNode? root = await context.Document.GetSyntaxRootAsync(context.CancellationToken).ConfigureAwait(false);
        foreach (Diagnostic diagnostic in context.Diagnostics)
        {
            // An attribute is for all fields of a declaration.
            if (root?.FindNode(diagnostic.Location.SourceSpan).FirstAncestorOrSelf<FieldDeclarationSyntax>() is { Declaration.Variables.Count: 1 } field)
            {
                context.RegisterCodeFix(CodeAction.Create(Title, cancellation => MarkAsync(context.Document, field, cancellation), Title), diagnostic);
            }
        }
    }

    private static async Task<Document> MarkAsync(Document document, FieldDeclarationSyntax field, System.Threading.CancellationToken cancellation)
    {
        DocumentEditor editor = await DocumentEditor.CreateAsync(document, cancellation).ConfigureAwait(false);
        editor.AddAttribute(field, editor.Generator.Attribute("System.Owned").WithAdditionalAnnotations(Simplifier.Annotation));
        return editor.GetChangedDocument();
    }
}
