using System.Collections.Generic;
using System.Collections.Immutable;
using System.Linq;
using System.Threading;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.FlowAnalysis;
using Microsoft.CodeAnalysis.Operations;

namespace Freehold.Analyzers.Flow;

/// <summary>
/// Follows deletions through one control flow graph to a fixpoint. A handler is entered from every point of its try block. A finally block is analyzed for each jump through it, so that
/// paths that meet only there stay apart.
/// </summary>
internal sealed class DeletionFlow
{
    // A method with deeply nested finally blocks could take very long; it is left alone.
    private const int MaximalSteps = 20_000;

    private readonly ControlFlowGraph _graph;
    private readonly FlowVariables _variables;
    private readonly DeletionTransfer _transfer;
    private readonly CancellationToken _cancellation;
    private int _steps;

    public DeletionFlow(ControlFlowGraph graph, FlowVariables variables, HeapSymbols heap, CancellationToken cancellation)
    {
        _graph = graph;
        _variables = variables;
        _transfer = new DeletionTransfer(graph, variables, heap, cancellation);
        _cancellation = cancellation;
    }

    /// <summary>The uses and deletions that some path reaches; none if the method is too large.</summary>
    public IReadOnlyCollection<Finding> Find()
    {
        Run(0, _graph.Blocks.Length - 1, new FlowState(_variables.Count), report: true);
        return _steps <= MaximalSteps ? _transfer.Findings : [];
    }

    // The state at the end of a finally region, or null if no path gets there.
    private FlowState? Run(int first, int last, FlowState entry, bool report)
    {
        var run = new Inputs(first, last) { [first] = entry };
        while (run.Take() is { } ordinal && _steps++ <= MaximalSteps)
        {
            _cancellation.ThrowIfCancellationRequested();
            Process(_graph.Blocks[ordinal], run, report: false);
        }

        if (report && _steps <= MaximalSteps)
        {
            foreach (int ordinal in run.Reached)
            {
                Process(_graph.Blocks[ordinal], run, report: true);
            }
        }

        return run.Exit;
    }

    private void Process(BasicBlock block, Inputs run, bool report)
    {
        FlowState state = run[block.Ordinal].Clone();
        List<int> handlers = HandlersOf(block, run);
        Raise(handlers, state, run);
        foreach (IOperation operation in block.Operations)
        {
            _transfer.Apply(operation, state, report);
            Raise(handlers, state, run);
        }

        if (block.BranchValue is { } value)
        {
            _transfer.ApplyBranchValue(block, value, state, report);
            Raise(handlers, state, run);
        }

        Follow(block.ConditionalSuccessor, state, run, report);
        Follow(block.FallThroughSuccessor, state, run, report);
    }

    private void Follow(ControlFlowBranch? branch, FlowState state, Inputs run, bool report)
    {
        if (branch is null || branch.Semantics is ControlFlowBranchSemantics.Throw or ControlFlowBranchSemantics.Rethrow or ControlFlowBranchSemantics.Error)
        {
            return;
        }

        FlowState? after = state;
        foreach (ControlFlowRegion region in branch.FinallyRegions)
        {
            after = Run(region.FirstBlockOrdinal, region.LastBlockOrdinal, after.Clone(), report);
            if (after is null)
            {
                return;
            }
        }

        if (branch.Semantics == ControlFlowBranchSemantics.StructuredExceptionHandling)
        {
            run.Leave(after);
        }
        else if (branch.Destination is { } destination)
        {
            run.Join(destination.Ordinal, after);
        }
    }

    private static void Raise(List<int> handlers, FlowState state, Inputs run)
    {
        foreach (int handler in handlers)
        {
            run.Join(handler, state);
        }
    }

    private static List<int> HandlersOf(BasicBlock block, Inputs run)
    {
        var handlers = new List<int>();
        for (ControlFlowRegion? region = block.EnclosingRegion; region is not null; region = region.EnclosingRegion)
        {
            if (region.Kind == ControlFlowRegionKind.Try && region.EnclosingRegion is { Kind: ControlFlowRegionKind.TryAndCatch } around)
            {
                handlers.AddRange(around.NestedRegions.Where(nested => nested.Kind != ControlFlowRegionKind.Try && run.Contains(nested.FirstBlockOrdinal)).Select(nested => nested.FirstBlockOrdinal));
            }
        }

        return handlers;
    }

    /// <summary>The states at the beginnings of the blocks of a region, and which are to be processed.</summary>
    private sealed class Inputs(int first, int last)
    {
        private readonly SortedSet<int> _work = [first];
        private readonly SortedDictionary<int, FlowState> _states = [];

        public FlowState? Exit { get; private set; }

        public IEnumerable<int> Reached => _states.Keys.ToImmutableArray();

        public FlowState this[int ordinal]
        {
            get => _states[ordinal];
            set => _states[ordinal] = value;
        }

        public bool Contains(int ordinal) => ordinal >= first && ordinal <= last;

        public int? Take()
        {
            if (_work.Count == 0)
            {
                return null;
            }

            int ordinal = _work.Min;
            _work.Remove(ordinal);
            return ordinal;
        }

        public void Join(int ordinal, FlowState state)
        {
            if (!_states.TryGetValue(ordinal, out FlowState? known))
            {
                _states.Add(ordinal, state.Clone());
                _work.Add(ordinal);
            }
            else if (known.Join(state))
            {
                _work.Add(ordinal);
            }
        }

        public void Leave(FlowState state)
        {
            if (Exit is null)
            {
                Exit = state.Clone();
            }
            else
            {
                Exit.Join(state);
            }
        }
    }
}
