using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Linq;
using System.Threading;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers;

/// <summary>The rules about fields: those that could be marked <c>[Owned]</c>, and those that must not.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class OwnedFieldAnalyzer : DiagnosticAnalyzer
{
    /// <inheritdoc />
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } = [Rule.FieldNotOwned, Rule.OwnedMisplaced];

    /// <inheritdoc />
    public override void Initialize(AnalysisContext context)
    {
        // A generated part of a class may hand its fields out.
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.Analyze);
        context.EnableConcurrentExecution();
        context.RegisterCompilationStartAction(start =>
        {
            if (HeapSymbols.Find(start.Compilation) is { Owned: not null } heap)
            {
                start.RegisterSymbolAction(field => Check(field, (IFieldSymbol)field.Symbol, heap), SymbolKind.Field);
                // '[field: Owned]': fields that the compiler declares have no action of their own.
                start.RegisterSymbolAction(
                    property =>
                    {
                        foreach (IFieldSymbol field in property.Symbol.ContainingType.GetMembers().OfType<IFieldSymbol>().Where(field => SymbolEqualityComparer.Default.Equals(field.AssociatedSymbol, property.Symbol)))
                        {
                            Check(property, field, heap);
                        }
                    },
                    SymbolKind.Property);
                start.RegisterSymbolStartAction(type => Begin(type, heap), SymbolKind.NamedType);
            }
        });
    }

    private static void Check(SymbolAnalysisContext context, IFieldSymbol field, HeapSymbols heap)
    {
        if ((field.IsStatic || field.Type.IsValueType || field.ContainingType.TypeKind != TypeKind.Class) && heap.IsOwned(field))
        {
            context.ReportDiagnostic(Diagnostic.Create(Rule.OwnedMisplaced, context.Symbol.Locations[0], context.Symbol.Name));
        }
    }

    private static void Begin(SymbolStartAnalysisContext context, HeapSymbols heap)
    {
        var type = (INamedTypeSymbol)context.Symbol;
        // Nested types may read private fields, and no action here sees their code.
        if (type.TypeKind != TypeKind.Class || type.IsStatic || type.GetTypeMembers().Any(nested => nested.TypeKind is TypeKind.Class or TypeKind.Struct or TypeKind.Interface))
        {
            return;
        }

        // A copy of the object has the same objects in its fields: the second deletion would find them deleted.
        if (type.IsRecord || type.AllInterfaces.Any(one => one.ToDisplayString() == "System.ICloneable"))
        {
            return;
        }

        bool copied = false;

        // What is made for a field that may have it for itself; null: somebody else may get at it.
        var made = new ConcurrentDictionary<IFieldSymbol, ITypeSymbol?>(SymbolEqualityComparer.Default);
        var candidates = type.GetMembers().OfType<IFieldSymbol>()
            .Where(field => field is { DeclaredAccessibility: Accessibility.Private, IsStatic: false, IsImplicitlyDeclared: false, Type.IsReferenceType: true } && !heap.IsOwned(field))
            .ToImmutableHashSet<ISymbol>(SymbolEqualityComparer.Default);
        if (candidates.Count == 0)
        {
            return;
        }

        context.RegisterOperationAction(
            operation =>
            {
                var initializer = (IFieldInitializerOperation)operation.Operation;
                foreach (IFieldSymbol field in initializer.InitializedFields)
                {
                    if (candidates.Contains(field))
                    {
                        Assigned(made, field, initializer.Value);
                    }
                }
            },
            OperationKind.FieldInitializer);
        context.RegisterOperationAction(
            operation =>
            {
                var reference = (IFieldReferenceOperation)operation.Operation;
                if (candidates.Contains(reference.Field.OriginalDefinition))
                {
                    Referenced(made, reference);
                }
            },
            OperationKind.FieldReference);
        context.RegisterOperationAction(
            operation =>
            {
                if (((IInvocationOperation)operation.Operation).TargetMethod is { Name: "MemberwiseClone", ContainingType.SpecialType: SpecialType.System_Object })
                {
                    Volatile.Write(ref copied, true);
                }
            },
            OperationKind.Invocation);
        context.RegisterSymbolEndAction(end =>
        {
            if (Volatile.Read(ref copied))
            {
                return;
            }

            foreach ((IFieldSymbol field, ITypeSymbol? what) in made.Select(pair => (pair.Key, pair.Value)))
            {
                if (what is not null)
                {
                    end.ReportDiagnostic(Diagnostic.Create(Rule.FieldNotOwned, field.Locations[0], field.Name, type.Name));
                }
            }
        });
    }

    private static void Referenced(ConcurrentDictionary<IFieldSymbol, ITypeSymbol?> made, IFieldReferenceOperation reference)
    {
        IFieldSymbol field = reference.Field.OriginalDefinition;
        if (reference.Parent is ISimpleAssignmentOperation { IsRef: false, Parent: IExpressionStatementOperation } assignment && assignment.Target == reference)
        {
            Assigned(made, field, assignment.Value);
        }
        else if (reference.Parent is ICoalesceAssignmentOperation coalesce && coalesce.Target == reference && coalesce.Parent is IExpressionStatementOperation)
        {
            Assigned(made, field, coalesce.Value);
        }
        else if (!HeldObject.IsContained(reference, reference.Type!))
        {
            made[field] = null;
        }
    }

    private static void Assigned(ConcurrentDictionary<IFieldSymbol, ITypeSymbol?> made, IFieldSymbol field, IOperation value)
    {
        if (value.Unconverted().ConstantValue is { HasValue: true, Value: null })
        {
            return;
        }

        ITypeSymbol? type = HeldObject.IsMade(value) ? value.Unconverted().Type : null;
        made.AddOrUpdate(field, type, (_, known) => known is null ? null : type);
    }
}
