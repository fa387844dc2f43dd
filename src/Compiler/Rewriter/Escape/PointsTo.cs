using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>
/// What the references in one method may lead to. A node is an object that the method makes, what a parameter refers to, what hangs on one of these, or the cell of a local or argument, whose
/// address may be taken; node 0 is all else. Each instruction is interpreted with the sets of nodes on the stack, until nothing is new. Cells and objects are not told apart by time or by field.
/// </summary>
internal sealed partial class PointsTo
{
    /// <summary>All that others know.</summary>
    public const int Other = 0;

    private readonly SummaryTable _summaries;
    private readonly ClosedWorld _world;
    private readonly MethodDefinition _method;
    private readonly IList<Instruction> _code;
    private readonly Dictionary<Instruction, int> _indexes = [];
    private readonly int _parameters;
    private readonly List<NodeSet> _contents = [];
    private readonly NodeSet _escaped = NodeSet.Of(Other);
    private readonly NodeSet _returned = new();
    private readonly Dictionary<int, string> _reasons = [];
    private readonly Dictionary<Instruction, AllocationSite> _sites = [];
    private readonly Dictionary<int, AllocationSite> _siteOfNode = [];
    private readonly Dictionary<Instruction, int> _cells = [];
    private readonly List<MethodDefinition>[] _slots;
    private readonly Value[]?[] _entries;
    private readonly Value[] _instructionOperands = new Value[3];
    private NodeSet[]?[]? _recorded;
    private Value[] _stack = new Value[8];
    private int _depth;
    private bool _changed;
    private ulong _storesFresh;
    private ulong _lifts;
    private ulong _relinks;
    private int _texts = -1;
    private bool _constructs;
    private Instruction _at;

    private PointsTo(SummaryTable summaries, MethodDefinition method)
    {
        _summaries = summaries;
        _world = summaries.World;
        _method = method;
        _code = method.Body.Instructions;
        _at = _code[0];
        for (int i = 0; i < _code.Count; i++)
        {
            _indexes[_code[i]] = i;
        }

        _parameters = CountOf(method);
        _slots = [.. Enumerable.Range(0, 2 * _parameters).Select(_ => new List<MethodDefinition>())];
        _entries = new Value[_code.Count][];
        _contents.Add(NodeSet.Of(Other));
        for (int i = 0; i < _parameters; i++)
        {
            TypeReference type = TypeOfParameter(i) ?? _method.DeclaringType;
            _contents.Add(_world.HasPlainContents(type) ? new NodeSet() : NodeSet.Of(ContentsOfParameter(i)));
        }

        for (int i = 0; i < _parameters; i++)
        {
            _contents.Add(NodeSet.Of(ContentsOfParameter(i)));
        }

        for (int i = 0; i < _parameters; i++)
        {
            _contents.Add(IsPlainParameter(i) ? new NodeSet() : NodeSet.Of(Parameter(i)));
        }

        foreach (VariableDefinition _ in method.Body.Variables)
        {
            _contents.Add(new NodeSet());
        }
    }

    /// <summary>Interprets a method; null when it is not understood.</summary>
    public static PointsTo? Of(SummaryTable summaries, MethodDefinition method)
    {
        PointsTo flow = new(summaries, method);
        do
        {
            flow._changed = false;
            if (!flow.Round())
            {
                return null;
            }

            flow.SpreadEscapes();
        }
        while (flow._changed);
        return flow;
    }

    /// <summary>With <c>this</c>, which comes first.</summary>
    public static int CountOf(MethodReference method) => method.Parameters.Count + (method.HasThis && !method.ExplicitThis ? 1 : 0);

    /// <summary>What is made here, in the order of the code.</summary>
    public IEnumerable<AllocationSite> Sites => _sites.Values.OrderBy(site => _indexes[site.Instruction]);

    /// <summary>Whether somebody beyond this call may know the node while the method runs or when it has returned, but through its arguments and its result.</summary>
    public bool Escapes(int node) => _escaped.Contains(node);

    /// <summary>Why an object is not known to end with this call of the method; null: it does.</summary>
    public string? WhyItLives(AllocationSite site)
    {
        if (site.MayBeOther && _summaries.Has(EscapeRule.SharedResults))
        {
            return "may be an object that others know";
        }

        if (_escaped.Contains(site.Node))
        {
            return _reasons.GetValueOrDefault(site.Node, "escapes");
        }

        if (Closure(_returned).Contains(site.Node))
        {
            return "is returned";
        }

        for (int i = 0; i < _parameters; i++)
        {
            if (Closure(_contents[Parameter(i)]).Contains(site.Node))
            {
                return "is stored in an argument";
            }
        }

        return null;
    }

    /// <summary>All that can be reached from these nodes, with them; what has escaped leads to what others know, and no further.</summary>
    public NodeSet Closure(NodeSet start)
    {
        NodeSet reached = new();
        reached.UnionWith(start);
        Stack<int> work = new(start.Members);
        while (work.TryPop(out int node))
        {
            if (_escaped.Contains(node))
            {
                reached.Add(Other);
                continue;
            }

            foreach (int next in _contents[node].Members)
            {
                if (reached.Add(next))
                {
                    work.Push(next);
                }
            }
        }

        return reached;
    }

    /// <summary>What the cell of a local holds.</summary>
    public NodeSet Local(int index) => _contents[CellOfLocal(index)];

    /// <summary>What the cell of an argument holds, <c>this</c> being the first.</summary>
    public NodeSet Argument(int index) => _contents[CellOfArgument(index)];

    /// <summary>What is on the stack before each instruction; null where control does not come.</summary>
    public NodeSet[]?[] RecordStacks()
    {
        _recorded = new NodeSet[_code.Count][];
        Round();
        return _recorded;
    }

    /// <summary>Whether nobody but the object, and locals of the method, leads to what its class keeps inside.</summary>
    public bool PartsEnd(AllocationSite site)
    {
        int parts = site.Node + 1;
        return !_escaped.Contains(parts) && !Closure(_returned).Contains(parts)
            && !Enumerable.Range(0, _parameters).Any(i => Closure(_contents[Parameter(i)]).Contains(parts));
    }

    /// <summary>What all instructions made of the nodes: the summary for callers.</summary>
    public MethodSummary Summarize()
    {
        MethodSummary summary = new(_parameters);
        NodeSet returned = _returned;
        NodeSet[] below = [.. Enumerable.Range(0, _parameters).Select(i => Closure(_contents[Parameter(i)]))];
        NodeSet inReturned = new();
        NodeSet inOther = new();
        bool leads = !_world.HasPlainContents(_method.ReturnType);  // a text leads to nothing
        foreach (int node in returned.Members.Where(node => leads && node != Other))
        {
            // A caller has a node for an argument and for what is new, and none for the rest: what that leads to could not be found again.
            bool isFollowed = node <= 2 * _parameters || IsFresh(node, below) || !_summaries.Has(EscapeRule.OtherResults);
            (isFollowed ? inReturned : inOther).UnionWith(Closure(_contents[node]));
        }

        for (int i = 0; i < _parameters; i++)
        {
            summary.Objects[i] = FlowsOf(Parameter(i), returned, inReturned, inOther, below);
            summary.Contents[i] = FlowsOf(ContentsOfParameter(i), returned, inReturned, inOther, below) & (MethodSummary.Into(i) == MethodSummary.Escapes ? ulong.MaxValue : ~MethodSummary.Into(i));
            summary.Slots[i].AddRange(_slots[i]);
            summary.ContentsSlots[i].AddRange(_slots[_parameters + i]);
            summary.Reasons[i] = _reasons.GetValueOrDefault(Parameter(i)) ?? _reasons.GetValueOrDefault(ContentsOfParameter(i));
            bool storesOther = below[i].Members.Any(_escaped.Contains);
            bool storesFresh = below[i].Members.Any(node => node > 2 * _parameters);
            summary.StoresOther |= storesOther ? MethodSummary.Bit(i) : 0;
            summary.StoresFresh |= storesFresh ? MethodSummary.Bit(i) : 0;
            // Two things that hang there may lead to it: a caller would take it for two.
            bool isDeeper = Closure(_contents[ContentsOfParameter(i)]).Members.Any(node => node > 2 * _parameters);
            summary.StoresOther |= isDeeper && _summaries.Has(EscapeRule.FreshBelow) ? MethodSummary.Bit(i) : 0;
        }

        summary.StoresFresh |= _storesFresh;
        SummarizeLinks(summary, below);

        // A new object that two owners lead to: a caller knows an owner's new contents as that owner's alone.
        for (int i = 0; i < _parameters; i++)
        {
            for (int k = i + 1; k < _parameters; k++)
            {
                summary.StoresOther |= Shares(below[i], below[k]) ? MethodSummary.Bit(i) | MethodSummary.Bit(k) : 0;
            }
        }

        foreach (int node in returned.Members)
        {
            if (IsFresh(node, below))
            {
                NodeSet inFresh = Closure(_contents[node]);
                for (int i = 0; i < _parameters; i++)
                {
                    bool shares = Shares(inFresh, below[i]);
                    summary.FreshHoldsOther |= shares;
                    summary.StoresOther |= shares ? MethodSummary.Bit(i) : 0;
                }

                AllocationSite site = _siteOfNode[node];
                summary.ReturnsFresh = true;
                summary.FreshIsOfUnknownType |= site.IsOfUnknownType;
                MethodSummary.AddNew(summary.FreshTypes, site.Types);
                summary.FreshPartsEscape |= _escaped.Contains(node + 1) || Array.Exists(below, set => set.Contains(node + 1));
                summary.FreshHoldsOther |= inFresh.Members.Any(_escaped.Contains);
            }
            else if (node == Other || node > 2 * _parameters)
            {
                summary.ReturnsOther = true;
                // By an argument a caller finds it too, and does not know that it is the result.
                NodeSet all = Closure(NodeSet.Of(node));
                for (int i = 0; i < _parameters && node != Other; i++)
                {
                    summary.StoresOther |= Shares(all, below[i]) && _summaries.Has(EscapeRule.OtherResults) ? MethodSummary.Bit(i) : 0;
                }
            }
        }

        return summary;
    }

    // One node stands for all that hangs on a parameter, and leads to itself from the beginning: what the method does among these is told apart.
    private void SummarizeLinks(MethodSummary summary, NodeSet[] below)
    {
        if (!_summaries.Has(EscapeRule.Relinks))
        {
            return;
        }

        summary.Lifts = _lifts;
        summary.Relinks = _relinks;
        for (int i = 0; i < _parameters; i++)
        {
            int contents = ContentsOfParameter(i);
            NodeSet deeper = Closure(_contents[contents]);
            foreach (int node in below[i].Members.Where(node => node > 2 * _parameters && _contents[node].Contains(contents)))
            {
                summary.Wraps |= MethodSummary.Bit(i);
                summary.WrapsBelow |= deeper.Contains(node) ? MethodSummary.Bit(i) : 0;
            }
        }
    }

    // What a call makes hangs on an argument of this method: nothing stands for it here.
    private void NoteFresh(NodeSet nodes)
    {
        for (int i = 0; i < _parameters; i++)
        {
            ulong bit = nodes.Contains(Parameter(i)) || nodes.Contains(ContentsOfParameter(i)) ? MethodSummary.Bit(i) & ~_storesFresh : 0;
            _storesFresh |= bit;
            _changed |= bit != 0;
        }
    }

    private void NoteLinks(NodeSet addresses, NodeSet values)
    {
        for (int i = 0; i < _parameters; i++)
        {
            int contents = ContentsOfParameter(i);
            if (values.Contains(contents))
            {
                ulong bit = MethodSummary.Bit(i);
                _changed |= (addresses.Contains(Parameter(i)) && (_lifts & bit) == 0) || (addresses.Contains(contents) && (_relinks & bit) == 0);
                _lifts |= addresses.Contains(Parameter(i)) ? bit : 0;
                _relinks |= addresses.Contains(contents) ? bit : 0;
            }
        }
    }

    private bool Shares(NodeSet a, NodeSet b) => a.Members.Any(node => node > 2 * _parameters && b.Contains(node));

    private bool IsFresh(int node, NodeSet[] below) =>
        _siteOfNode.TryGetValue(node, out AllocationSite? site) && site.Node == node && !_escaped.Contains(node) && !Array.Exists(below, set => set.Contains(node));

    private ulong FlowsOf(int node, NodeSet returned, NodeSet inReturned, NodeSet inOther, NodeSet[] below)
    {
        ulong flows = (_escaped.Contains(node) ? MethodSummary.Escapes : 0)
            | (returned.Contains(node) ? MethodSummary.Returned : 0)
            | (inReturned.Contains(node) ? MethodSummary.InReturned : 0)
            | (inOther.Contains(node) ? MethodSummary.InOther : 0);
        for (int i = 0; i < _parameters; i++)
        {
            flows |= below[i].Contains(node) ? MethodSummary.Into(i) : 0;
        }

        return flows;
    }

    private static int Parameter(int index) => 1 + index;

    private int ContentsOfParameter(int index) => 1 + _parameters + index;

    private int CellOfArgument(int index) => 1 + (2 * _parameters) + index;

    private int CellOfLocal(int index) => 1 + (3 * _parameters) + index;

    private TypeReference? TypeOfParameter(int index)
    {
        int first = _parameters - _method.Parameters.Count;
        return index < first ? null : _method.Parameters[index - first].ParameterType;
    }

    private bool IsPlainParameter(int index) => TypeOfParameter(index) is { } type && _world.IsPlain(type);

    private ValueShape ShapeOfParameter(int index) =>
        TypeOfParameter(index) is { } type ? ShapeOf(type) : _method.DeclaringType.IsValueType ? ValueShape.Address : ValueShape.Plain;

    private static ValueShape ShapeOf(TypeReference type) => type switch
    {
        IModifierType modified => ShapeOf(modified.ElementType),
        PinnedType pinned => ShapeOf(pinned.ElementType),
        ByReferenceType or PointerType => ValueShape.Address,
        _ => type.MetadataType is MetadataType.IntPtr or MetadataType.UIntPtr ? ValueShape.Address : ValueShape.Plain,
    };

    /// <summary>The object that an instruction makes.</summary>
    private AllocationSite SiteOf(TypeReference type, MethodDefinition? target = null)
    {
        if (!_sites.TryGetValue(_at, out AllocationSite? site))
        {
            int node = _contents.Count;
            _contents.Add(_world.HasPlainContents(type) ? new NodeSet() : NodeSet.Of(node + 1));
            _contents.Add(NodeSet.Of(node + 1));
            _sites[_at] = site = new AllocationSite(_at, node, type) { Target = target };
            _siteOfNode[node] = _siteOfNode[node + 1] = site;
            _changed = true;
        }
        else if (!_world.HasPlainContents(type) && !_contents[site.Node].Contains(site.Node + 1))
        {
            // Of another target of the same call, whose objects have contents.
            _contents[site.Node].Add(site.Node + 1);
            _changed = true;
        }

        return site;
    }

    /// <summary>The object, of exactly this type, that an instruction makes.</summary>
    private AllocationSite NewSite(TypeReference type, MethodDefinition? target = null)
    {
        AllocationSite site = SiteOf(type, target);
        if (site.Types.Count == 0)
        {
            site.Types.Add(_world.Canonical(type));
            if (_summaries.Has(EscapeRule.Finalizers) && _world.MayHaveFinalizer(type))
            {
                Escape(NodeSet.Of(site.Node), "has a finalizer");
            }
        }

        return site;
    }

    /// <summary>The cell of a structure that an instruction makes.</summary>
    private int CellOf()
    {
        if (!_cells.TryGetValue(_at, out int cell))
        {
            cell = _contents.Count;
            _contents.Add(new NodeSet());
            _cells[_at] = cell;
        }

        return cell;
    }

    private void Escape(NodeSet nodes, string reason)
    {
        foreach (int node in nodes.Members)
        {
            if (_escaped.Add(node))
            {
                _reasons.TryAdd(node, reason);
                _changed = true;
            }
        }
    }

    /// <summary>What hangs on something that others know is known too, and they may store there what they like.</summary>
    private void SpreadEscapes()
    {
        Stack<int> work = new(_escaped.Members);
        while (work.TryPop(out int node))
        {
            _changed |= _contents[node].Add(Other);
            foreach (int next in _contents[node].Members)
            {
                if (_escaped.Add(next))
                {
                    _reasons.TryAdd(next, $"hangs on what {_reasons.GetValueOrDefault(node, "others know")}");
                    _changed = true;
                    work.Push(next);
                }
            }
        }
    }

    // What hangs on an object has a node that stands for it; in a cell there is none.
    private void StoreUnknown(NodeSet nodes, bool isFresh)
    {
        foreach (int node in nodes.Members)
        {
            bool isCell = node > 2 * _parameters && !_siteOfNode.ContainsKey(node);
            _changed |= (!isFresh || isCell) && _contents[node].Add(Other);
        }
    }

    /// <summary>What stands for the arrays of texts that the framework marks (<see cref="SharedTexts"/>): no deletion harms what is in them. Nobody gets such an array.</summary>
    private int Texts()
    {
        if (_texts < 0)
        {
            _texts = _contents.Count;
            _contents.Add(new NodeSet());
        }

        return _texts;
    }

    private bool HasSharedTexts(FieldReference field) => _summaries.Has(EscapeRule.MarkedTexts) ? _summaries.Known.Texts.Has(field) : SharedTexts.OfTexts(field);

    // Each is a text that was made here, or by what was called.
    private bool AreNewTexts(NodeSet nodes) => nodes.Members.All(node =>
        _siteOfNode.TryGetValue(node, out AllocationSite? site) && site.Node == node && !site.IsOfUnknownType && site.Types.Count > 0 && site.Types.All(type => type.MetadataType == MetadataType.String));

    private NodeSet Load(NodeSet addresses)
    {
        NodeSet loaded = new();
        foreach (int node in addresses.Members)
        {
            if (_escaped.Contains(node))
            {
                loaded.Add(Other);
            }
            else
            {
                loaded.UnionWith(_contents[node]);
            }
        }

        return loaded;
    }

    private void Store(NodeSet addresses, NodeSet values, string what)
    {
        if (values.IsEmpty || !_summaries.Has(EscapeRule.Stores))
        {
            return;
        }

        NoteLinks(addresses, values);
        foreach (int node in addresses.Members)
        {
            if (_escaped.Contains(node) || (node == _texts && !AreNewTexts(values)))
            {
                Escape(values, what);
            }
            else if (node == _texts)
            {
                continue;
            }
            else
            {
                _changed |= _contents[node].UnionWith(values);
            }
        }
    }
}
