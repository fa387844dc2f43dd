using System.Collections.Generic;
using System.Linq;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp.Syntax;
using Microsoft.CodeAnalysis.FlowAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers.Flow;

/// <summary>The variables that the analysis follows in one control flow graph: locals, parameters, fields of <c>this</c>, static fields, and what the graph captures for later.</summary>
internal sealed class FlowVariables
{
    private readonly Dictionary<ISymbol, int> _symbols = new(SymbolEqualityComparer.Default);
    private readonly Dictionary<CaptureId, int> _captures = [];

    // A capture that is assigned to stands for the variable itself.
    private readonly Dictionary<CaptureId, ISymbol?> _targets = [];
    private readonly List<string> _names = [];
    private readonly List<int> _fields = [];

    public FlowVariables(ControlFlowGraph graph, HeapSymbols heap, HashSet<ISymbol> untracked)
    {
        foreach (BasicBlock block in graph.Blocks)
        {
            foreach (IOperation operation in OperationsOf(block))
            {
                foreach (IOperation each in operation.DescendantsAndSelf())
                {
                    HasDeletion |= each is IInvocationOperation call && heap.IsDeletion(call);
                    NoteTargets(each, untracked);
                }
            }
        }

        if (!HasDeletion)
        {
            return;
        }

        foreach (BasicBlock block in graph.Blocks)
        {
            foreach (IOperation operation in OperationsOf(block))
            {
                foreach (IOperation each in operation.DescendantsAndSelf())
                {
                    Add(each, untracked);
                }
            }
        }
    }

    /// <summary>Whether the graph deletes anything.</summary>
    public bool HasDeletion { get; }

    public int Count => _names.Count;

    /// <summary>Those that any call may change.</summary>
    public IReadOnlyList<int> Fields => _fields;

    public string Name(int variable) => _names[variable];

    /// <summary>The variable that a value is read from, or -1.</summary>
    public int Of(IOperation value)
    {
        IOperation read = value.Unconverted();
        ISymbol? symbol = SymbolOf(read);
        if (read is IFlowCaptureReferenceOperation capture)
        {
            if (!_targets.TryGetValue(capture.Id, out symbol))
            {
                return _captures.TryGetValue(capture.Id, out int captured) ? captured : -1;
            }
        }

        return symbol is not null && _symbols.TryGetValue(symbol, out int variable) ? variable : -1;
    }

    /// <summary>The variable that a capture makes, or -1.</summary>
    public int Of(IFlowCaptureOperation capture) => _captures.TryGetValue(capture.Id, out int variable) ? variable : -1;

    /// <summary>The number of a captured local, or -1.</summary>
    public int Of(ISymbol symbol) => _symbols.TryGetValue(symbol, out int variable) ? variable : -1;

    public static IEnumerable<IOperation> OperationsOf(BasicBlock block)
    {
        foreach (IOperation operation in block.Operations)
        {
            yield return operation;
        }

        if (block.BranchValue is not null)
        {
            yield return block.BranchValue;
        }
    }

    private static ISymbol? SymbolOf(IOperation value) => value switch
    {
        IDeclarationExpressionOperation declaration => SymbolOf(declaration.Expression),
        // The object itself, by the name of its type.
        IInstanceReferenceOperation { ReferenceKind: InstanceReferenceKind.ContainingTypeInstance, Type: { IsReferenceType: true } type } => type,
        ILocalReferenceOperation { Local: { RefKind: RefKind.None } local } => local,
        IParameterReferenceOperation { Parameter: { RefKind: RefKind.None } parameter } => parameter,
        // What a static readonly field holds is known without its paths.
        IFieldReferenceOperation { Field: { IsConst: false } field } when !(field.IsStatic && field.IsReadOnly) && value.Variable() is not null => field,
        _ => null,
    };

    // Captured it is a field, which other methods write.
    private static bool IsOfPrimaryConstructor(ISymbol symbol) =>
        symbol is IParameterSymbol { ContainingSymbol: IMethodSymbol { MethodKind: MethodKind.Constructor } constructor }
        && constructor.DeclaringSyntaxReferences.FirstOrDefault()?.GetSyntax() is TypeDeclarationSyntax;

    private void NoteTargets(IOperation operation, HashSet<ISymbol> untracked)
    {
        switch (operation)
        {
            // Through a reference the variable changes unseen.
            case ISimpleAssignmentOperation { IsRef: true } assignment when SymbolOf(assignment.Value) is { } aliased:
                untracked.Add(aliased);
                break;
            case IAddressOfOperation address when SymbolOf(address.Reference) is { } pointed:
                untracked.Add(pointed);
                break;
            case IAssignmentOperation { Target: IFlowCaptureReferenceOperation target } when !_targets.ContainsKey(target.Id):
                _targets.Add(target.Id, null);
                break;
        }
    }

    private void Add(IOperation operation, HashSet<ISymbol> untracked)
    {
        if (operation is IFlowCaptureOperation capture)
        {
            if (_targets.ContainsKey(capture.Id))
            {
                _targets[capture.Id] = SymbolOf(capture.Value);
            }
            else if (capture.Value.Type is { IsValueType: false } && !_captures.ContainsKey(capture.Id))
            {
                _captures.Add(capture.Id, _names.Count);
                _names.Add(capture.Value.Text());
            }

            return;
        }

        if (SymbolOf(operation) is { } symbol && operation.Type is { IsValueType: false } && !untracked.Contains(symbol) && !_symbols.ContainsKey(symbol))
        {
            if (symbol is IFieldSymbol || IsOfPrimaryConstructor(symbol))
            {
                _fields.Add(_names.Count);
            }

            _symbols.Add(symbol, _names.Count);
            _names.Add(symbol is ITypeSymbol ? "this" : symbol.Name);
        }
    }
}
