using System;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Linq;
using Freehold.Analyzers.Flow;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.FlowAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers;

/// <summary>The rules about a method's body: one walk over its operations, and the flow analysis where that saw a deletion.</summary>
[DiagnosticAnalyzer(LanguageNames.CSharp)]
public sealed class HeapAnalyzer : DiagnosticAnalyzer
{
    /// <inheritdoc />
    public override ImmutableArray<DiagnosticDescriptor> SupportedDiagnostics { get; } =
    [
        Rule.UseAfterDelete, Rule.PossibleUseAfterDelete, Rule.DeletedTwice, Rule.PossiblyDeletedTwice, Rule.CannotBeDeleted, Rule.StaticDeleted, Rule.PooledDeleted, Rule.EnumeratedDeleted,
        Rule.CapturedDeleted, Rule.DeletedInLock, Rule.LocalDropped, Rule.OwnedStored, Rule.OwnedReturned, Rule.ReferenceAsNumber, Rule.LibraryCall,
    ];

    /// <inheritdoc />
    public override void Initialize(AnalysisContext context)
    {
        context.ConfigureGeneratedCodeAnalysis(GeneratedCodeAnalysisFlags.None);
        context.EnableConcurrentExecution();
        context.RegisterCompilationStartAction(start =>
        {
            if (HeapSymbols.Find(start.Compilation) is not { } heap)
            {
                return;
            }

            IMethodSymbol? main = start.Compilation.GetEntryPoint(start.CancellationToken);
            start.Options.AnalyzerConfigOptionsProvider.GlobalOptions.TryGetValue("build_property.FreeholdAutoDelete", out string? autoDelete);
            bool deletes = string.Equals(autoDelete, "true", StringComparison.OrdinalIgnoreCase);
            bool isLibrary = start.Compilation.Options.OutputKind == OutputKind.DynamicallyLinkedLibrary;
            start.RegisterOperationBlockAction(block => Analyze(block, heap, new BodyOptions(isLibrary, deletes || SymbolEqualityComparer.Default.Equals(block.OwningSymbol, main))));
        });
    }

    private static void Analyze(OperationBlockAnalysisContext context, HeapSymbols heap, BodyOptions options)
    {
        var walker = new BodyWalker(context, heap, options);
        foreach (IOperation block in context.OperationBlocks)
        {
            walker.Visit(block);
        }

        walker.Finish();
        if (!walker.HasDeletion)
        {
            return;
        }

        foreach (IOperation block in context.OperationBlocks)
        {
            if (block is IBlockOperation or IMethodBodyBaseOperation or IFieldInitializerOperation or IPropertyInitializerOperation or IParameterInitializerOperation)
            {
                Follow(context, context.GetControlFlowGraph(block), heap, walker.Untracked);
            }
        }
    }

    private static void Follow(OperationBlockAnalysisContext context, ControlFlowGraph graph, HeapSymbols heap, HashSet<ISymbol> untracked)
    {
        var variables = new FlowVariables(graph, heap, untracked);
        if (variables.HasDeletion)
        {
            var reported = new HashSet<(Location, string)>();
            foreach (Finding finding in new DeletionFlow(graph, variables, heap, context.CancellationToken).Find().OrderBy(finding => finding.Operation.Syntax.SpanStart))
            {
                foreach (Diagnostic diagnostic in Diagnose(finding, heap))
                {
                    if (reported.Add((diagnostic.Location, diagnostic.Id)))
                    {
                        context.ReportDiagnostic(diagnostic);
                    }
                }
            }
        }

        foreach (IMethodSymbol function in graph.LocalFunctions)
        {
            Follow(context, graph.GetLocalFunctionControlFlowGraph(function, context.CancellationToken), heap, untracked);
        }

        foreach (IFlowAnonymousFunctionOperation function in graph.Blocks.SelectMany(FlowVariables.OperationsOf).SelectMany(operation => operation.DescendantsAndSelf()).OfType<IFlowAnonymousFunctionOperation>())
        {
            Follow(context, graph.GetAnonymousFunctionControlFlowGraph(function, context.CancellationToken), heap, untracked);
        }
    }

    private static IEnumerable<Diagnostic> Diagnose(Finding finding, HeapSymbols heap)
    {
        Location location = finding.Operation.Syntax.GetLocation();
        if ((finding.Facts & Facts.Deleted) != 0)
        {
            bool certain = (finding.Facts & Facts.Alive) == 0;
            DiagnosticDescriptor rule = finding.IsDeletion ? certain ? Rule.DeletedTwice : Rule.PossiblyDeletedTwice : certain ? Rule.UseAfterDelete : Rule.PossibleUseAfterDelete;
            yield return Diagnostic.Create(rule, location, finding.Name);
        }

        if (finding.IsDeletion && finding.Operation is IInvocationOperation call)
        {
            IOperation argument = call.Arguments[0].Value;
            switch (finding.Facts & Facts.Origins)
            {
                case Facts.Pooled:
                    yield return Diagnostic.Create(Rule.PooledDeleted, location, finding.Name);
                    break;
                case Facts.Runtime when call.TargetMethod.Name != "DeleteAll":
                    yield return Diagnostic.Create(Rule.CannotBeDeleted, location, finding.Name, Origins.Describe(argument, heap), $"Heap.{call.TargetMethod.Name}");
                    break;
                case Facts.Static:
                    yield return Diagnostic.Create(Rule.StaticDeleted, location, call.Syntax is InvocationExpressionSyntax syntax ? syntax.Expression.ToString() : call.TargetMethod.Name, finding.Name);
                    break;
            }
        }
    }
}
