using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>The interpretation of calls: by the summaries of what they may reach.</summary>
internal sealed partial class PointsTo
{
    // A target of the call that is being interpreted may give neither a new object nor, for all targets, the same argument.
    private bool _givesOther;

    private void Call()
    {
        IMethodSignature signature = (IMethodSignature)_at.Operand;
        MethodReference? called = _at.Operand as MethodReference;
        bool creates = _at.OpCode.Code == Code.Newobj;
        if (_at.OpCode.Code == Code.Calli)
        {
            Pop();
        }

        bool hasThis = signature.HasThis && !signature.ExplicitThis;
        Value[] arguments = new Value[signature.Parameters.Count + (hasThis ? 1 : 0)];
        for (int i = arguments.Length - 1; i >= (creates ? 1 : 0); i--)
        {
            arguments[i] = Pop();
        }

        if (creates)
        {
            Create(called!, arguments);
            return;
        }

        _givesOther = false;
        NodeSet result = called is null ? CallUnknown(arguments, "is passed to a function pointer") : Dispatch(called, arguments);
        if (_sites.TryGetValue(_at, out AllocationSite? site))
        {
            site.MayBeOther |= _givesOther;
        }

        if (signature.ReturnType.MetadataType != MetadataType.Void && !(signature.ReturnType is IModifierType { ElementType.MetadataType: MetadataType.Void }))
        {
            bool isPlain = _world.IsPlain(signature.ReturnType);
            Push(isPlain ? Value.Nothing : new Value(result, signature.ReturnType is GenericParameter || called?.DeclaringType.Name == "Unsafe" ? ValueShape.Either : ShapeOf(signature.ReturnType)));
        }
    }

    private void Create(MethodReference constructor, Value[] arguments)
    {
        TypeReference type = constructor.DeclaringType;
        if (type is ArrayType)
        {
            Push(NodeSet.Of(NewSite(type).Node), ValueShape.Plain);
            return;
        }

        TypeDefinition? definition = _world.Resolve(type);
        if (definition is null)
        {
            CallUnknown(arguments[1..], $"is passed to {Describe(constructor)}");
            Push(s_other);
        }
        else if (definition.IsValueType)
        {
            int cell = CellOf();
            arguments[0] = new Value(NodeSet.Of(cell), ValueShape.Address);
            Construct(constructor, arguments);
            Push(_contents[cell], ValueShape.Plain);
        }
        else if (definition.FullName == "System.String")
        {
            // Its constructors are methods that return a string; what they read are characters.
            AllocationSite site = NewSite(type);
            Push(NodeSet.Of(site.Node), ValueShape.Plain);
        }
        else if (_world.IsDelegate(type))
        {
            MethodDefinition? target = _at.Previous is { OpCode.Code: Code.Ldftn, Operand: MethodReference method } && PrefixOf(_at.Previous, Code.Constrained) is null ? _world.Resolve(method) : null;
            AllocationSite site = NewSite(type, target);
            Store(NodeSet.Of(site.Node), _summaries.Has(EscapeRule.DelegateTargets) ? arguments[1].Nodes : NodeSet.Empty, "is the target of a delegate");
            Push(NodeSet.Of(site.Node), ValueShape.Plain);
        }
        else
        {
            AllocationSite site = NewSite(type);
            arguments[0] = new Value(NodeSet.Of(site.Node), ValueShape.Plain);
            Construct(constructor, arguments);
            Push(NodeSet.Of(site.Node), ValueShape.Plain);
        }
    }

    private void Construct(MethodReference constructor, Value[] arguments)
    {
        _constructs = true;
        CallOne(constructor, arguments);
        _constructs = false;
    }

    private NodeSet Dispatch(MethodReference called, Value[] arguments)
    {
        if (called.DeclaringType is ArrayType)
        {
            return CallArray(called, arguments);
        }

        MethodDefinition? definition = _world.Resolve(called);
        if (definition is null)
        {
            return CallUnknown(arguments, $"is passed to {Describe(called)}, which is missing");
        }

        bool isVirtual = _at.OpCode.Code == Code.Callvirt && definition.IsVirtual;
        if (PrefixOf(_at, Code.Constrained) is { } prefix)
        {
            return CallConstrained((TypeReference)prefix.Operand, definition, arguments);
        }

        if (_at.OpCode.Code == Code.Callvirt && definition.Name == "Invoke" && _world.IsDelegate(definition.DeclaringType))
        {
            return CallDelegate(definition, arguments);
        }

        if (!isVirtual || definition.IsFinal || definition.DeclaringType.IsSealed)
        {
            return CallOne(called, arguments);
        }

        return CallVirtual(definition, arguments);
    }

    private static Instruction? PrefixOf(Instruction call, Code prefix)
    {
        for (Instruction? at = call.Previous; at is { OpCode.OpCodeType: OpCodeType.Prefix }; at = at.Previous)
        {
            if (at.OpCode.Code == prefix)
            {
                return at;
            }
        }

        return null;
    }

    private NodeSet CallArray(MethodReference called, Value[] arguments)
    {
        switch (called.Name)
        {
            case "Get":
                return Load(arguments[0].Nodes);
            case "Set":
                Store(arguments[0].Nodes, arguments[^1].Nodes, "is stored in an array that others know");
                return NodeSet.Empty;
            default:
                return arguments[0].Nodes;
        }
    }

    private NodeSet CallUnknown(Value[] arguments, string reason)
    {
        _givesOther = true;
        foreach (Value argument in arguments)
        {
            Escape(_summaries.Has(EscapeRule.UnknownCode) ? argument.Nodes : NodeSet.Empty, reason);
        }

        return NodeSet.Of(Other);
    }

    // Which argument the result may be, the targets need not agree on.
    private NodeSet CallAll(IReadOnlyList<MethodDefinition> targets, Value[] arguments)
    {
        NodeSet result = new();
        foreach (MethodDefinition target in targets)
        {
            result.UnionWith(CallOne(target, arguments));
        }

        if (_sites.TryGetValue(_at, out AllocationSite? site) && _at.OpCode.Code != Code.Newobj)
        {
            site.MayBeOther |= site.MayBeArgument != 0;
        }

        return result;
    }

    private NodeSet CallOne(MethodReference called, Value[] arguments)
    {
        bool matters = !Array.TrueForAll(arguments, argument => argument.Nodes.IsSubsetOf(_escaped));
        if (!matters && _world.IsPlain(called.ReturnType))
        {
            return NodeSet.Empty;
        }

        MethodDefinition? target = _world.Resolve(called);
        if (target is null || CountOf(target) != arguments.Length)
        {
            return CallUnknown(arguments, $"is passed to {Describe(called)}");
        }

        if (_summaries.Known.ModelOf(target) is { } model)
        {
            // Of numbers there is nothing to follow.
            bool isOfPlain = model == KnownMethod.CopiesSpan && called.DeclaringType is GenericInstanceType { GenericArguments: [{ } element] } && _world.IsPlain(element);
            return Apply(isOfPlain ? KnownMethod.Nothing : model, target, arguments);
        }

        MethodSummary summary = _summaries.Of(target);
        return summary.IsUnknown ? CallUnknown(arguments, arguments.Length > 0 ? ReasonIn(summary, 0, $"is passed to {Describe(target)}") : "") : Apply(summary, target, arguments);
    }

    /// <summary>A method that the analysis knows by name.</summary>
    private NodeSet Apply(KnownMethod model, MethodDefinition target, Value[] arguments)
    {
        NodeSet first = arguments.Length > 0 ? arguments[0].Nodes : NodeSet.Empty;
        _givesOther |= model != KnownMethod.Allocates;
        switch (model)
        {
            case KnownMethod.Nothing:
                return NodeSet.Empty;
            case KnownMethod.GivesOther:
                return NodeSet.Of(Other);
            case KnownMethod.GivesArguments:
                return arguments.Aggregate(NodeSet.Empty, (union, argument) => union.Plus(argument.Nodes));
            case KnownMethod.Reads:
                return Load(first);
            case KnownMethod.Writes:
                Store(first, arguments[1].Nodes, $"is passed to {Describe(target)}");
                return Load(first);
            case KnownMethod.Copies:
                Store(first, Load(arguments[1].Nodes), $"is copied by {Describe(target)}");
                return NodeSet.Empty;
            case KnownMethod.CopiesSpan:
                Store(arguments[1].Nodes, Load(Load(first)), $"is copied by {Describe(target)}");
                return NodeSet.Empty;
            case KnownMethod.CopiesArray:
                int to = target.Parameters[1].ParameterType.MetadataType == MetadataType.Class ? 1 : 2;
                Store(arguments[to].Nodes, Load(first), $"is copied by {Describe(target)}");
                return NodeSet.Empty;
            case KnownMethod.Allocates:
                return NodeSet.Of(NewSite(target.ReturnType).Node);
            default:
                throw new InvalidOperationException($"{model} of {target}");
        }
    }

    /// <summary>What a call does among the things that hang on one argument.</summary>
    private void Link(MethodSummary summary, int parameter, NodeSet nodes, string reason)
    {
        ulong bit = MethodSummary.Bit(parameter);
        if (((summary.Lifts | summary.Relinks | summary.Wraps) & bit) == 0)
        {
            return;
        }

        NodeSet below = Closure(Load(nodes));
        if ((summary.Lifts & bit) != 0)
        {
            Store(nodes, below, reason);
        }

        if ((summary.Relinks & bit) != 0)
        {
            Store(below, below, reason);
        }

        if ((summary.Wraps & bit) == 0)
        {
            return;
        }

        foreach (int node in ((summary.WrapsBelow & bit) != 0 ? nodes.Plus(below) : nodes).Members)
        {
            if (_siteOfNode.TryGetValue(node, out AllocationSite? site))
            {
                Store(NodeSet.Of(site.Node + 1), below, reason);
            }
            else if (node > Other && node <= 2 * _parameters)
            {
                Store(NodeSet.Of(node <= _parameters ? node + _parameters : node), below, reason);
            }
            else
            {
                // Nothing stands for what is new in a structure, or in what others know.
                Escape(below, reason);
            }
        }
    }

    // A chain of calls is told as far as a line goes.
    private static string ReasonIn(MethodSummary summary, int parameter, string call) =>
        summary.Reasons[parameter] is { } inner ? inner.Length > 600 ? $"{call}…" : $"{call}, where it {inner}" : call;

    private NodeSet Apply(MethodSummary summary, MethodDefinition target, Value[] arguments)
    {
        // Nothing hangs on a new object when its constructor begins. What that stores below it is stored in it, in what the constructor makes, or in an argument, which the summary says too.
        // Without this, an argument would be stored in all those that were stored before it.
        bool constructs = _constructs && (summary.StoresOther & MethodSummary.Bit(0)) == 0;
        _constructs = false;
        NodeSet? inNew = !constructs ? null
            : _siteOfNode.ContainsKey(arguments[0].Nodes.Members.First()) ? arguments[0].Nodes.Plus(NodeSet.Of(arguments[0].Nodes.Members.First() + 1))
            : (summary.StoresFresh & MethodSummary.Bit(0)) == 0 ? arguments[0].Nodes : null;
        string reason = $"is passed to {Describe(target)}";
        NodeSet result = new();
        NodeSet inFresh = new();
        for (int i = 0; i < arguments.Length; i++)
        {
            NodeSet nodes = arguments[i].Nodes;
            if (nodes.IsSubsetOf(_escaped))
            {
                // What others know: all that hangs on it they know too.
                if (!nodes.IsEmpty)
                {
                    Flow(summary.Objects[i] | summary.Contents[i], NodeSet.Of(Other));
                }

                continue;
            }

            NodeSet below = Closure(Load(nodes));
            reason = ReasonIn(summary, i, $"is passed to {Describe(target)}");
            Flow(summary.Objects[i], nodes);
            Flow(_summaries.Has(EscapeRule.ContentsEscape) ? summary.Contents[i] : 0, below);
            if (_summaries.Has(EscapeRule.StoresOther) && ((summary.StoresOther | summary.StoresFresh) & MethodSummary.Bit(i)) != 0)
            {
                StoreUnknown(nodes.Plus(below), isFresh: (summary.StoresOther & MethodSummary.Bit(i)) == 0);
                NoteFresh(nodes.Plus(below));
            }

            Link(summary, i, nodes, reason);
            foreach (MethodDefinition slot in summary.Slots[i].ToArray())
            {
                VirtualOn(nodes, slot);
            }

            foreach (MethodDefinition slot in summary.ContentsSlots[i].ToArray())
            {
                VirtualOn(below, slot);
            }
        }

        if (summary.ReturnsOther)
        {
            result.Add(Other);
            _givesOther = true;
        }

        if (summary.ReturnsFresh && !_world.IsReference(target.ReturnType))
        {
            // A structure of what is new, or an object of a type that only the caller's caller knows. Nothing stands for the new object here: what hangs on it cannot be followed.
            if (_summaries.Has(EscapeRule.NewInStructures))
            {
                Escape(inFresh, $"is in a new object that {Describe(target)} returns in a structure");
            }

            result.UnionWith(inFresh);
            result.Add(Other);
            _givesOther = true;
        }
        else if (summary.ReturnsFresh)
        {
            AllocationSite site = SiteOf(target.ReturnType);
            site.IsOfUnknownType |= summary.FreshIsOfUnknownType;
            _changed |= MethodSummary.AddNew(site.Types, summary.FreshTypes);
            result.Add(site.Node);
            for (int i = 0; i < arguments.Length; i++)
            {
                site.MayBeArgument |= (summary.Objects[i] & MethodSummary.Returned) != 0 ? 1UL << Math.Min(i, 63) : 0;
                site.MayBeOther |= (summary.Contents[i] & MethodSummary.Returned) != 0;
            }

            // It leads there itself, or by what its class keeps inside.
            Store(_summaries.Has(EscapeRule.FreshParts) ? NodeSet.Of(site.Node, site.Node + 1) : NodeSet.Of(site.Node), inFresh, reason);
            if (summary.FreshHoldsOther && _summaries.Has(EscapeRule.FreshHoldsOther))
            {
                StoreUnknown(NodeSet.Of(site.Node, site.Node + 1), isFresh: false);
            }

            if (summary.FreshPartsEscape)
            {
                Escape(NodeSet.Of(site.Node + 1), $"{Describe(target)} lets it escape");
            }
        }
        else
        {
            result.UnionWith(inFresh);
            _givesOther |= !result.IsEmpty;
        }

        return result;

        void VirtualOn(NodeSet nodes, MethodDefinition slot)
        {
            foreach (int node in nodes.Members)
            {
                Virtual(node, slot, reason);
            }
        }

        void Flow(ulong flows, NodeSet nodes)
        {
            if ((flows & MethodSummary.Escapes) != 0)
            {
                Escape(nodes, reason);
            }

            if ((flows & MethodSummary.InOther) != 0)
            {
                Escape(nodes, $"may hang on what {Describe(target)} returns, which others may know");
            }

            if ((flows & MethodSummary.Returned) != 0 && _summaries.Has(EscapeRule.Returns))
            {
                result.UnionWith(nodes);
            }

            if ((flows & MethodSummary.InReturned) != 0 && _summaries.Has(EscapeRule.ReturnedContents))
            {
                inFresh.UnionWith(nodes);
            }

            for (int k = 0; k < arguments.Length; k++)
            {
                if (flows > MethodSummary.InOther && _summaries.Has(EscapeRule.StoresIntoArguments) && (flows & MethodSummary.Into(k)) != 0 && MethodSummary.Into(k) != MethodSummary.Escapes)
                {
                    Store(k == 0 && inNew is not null ? inNew : Closure(arguments[k].Nodes), nodes, reason);
                }
            }
        }
    }
}
