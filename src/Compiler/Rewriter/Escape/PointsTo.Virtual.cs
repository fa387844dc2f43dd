using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>The interpretation of calls whose target depends on an object: virtual methods and delegates.</summary>
internal sealed partial class PointsTo
{
    /// <summary>A call that may reach more methods than this is not looked into.</summary>
    private const int MostTargets = 32;

    /// <summary>Of an interface's method with more targets than this each caller decides, where it can.</summary>
    private const int MostCommonTargets = 4;

    /// <summary>Virtual methods on one parameter that a summary keeps.</summary>
    private const int MostSlots = 12;

    private readonly HashSet<(int Node, MethodDefinition Slot)> _receiving = [];

    /// <summary>A call of a method of an interface or of <c>object</c> by the address of a value whose type is written there.</summary>
    private NodeSet CallConstrained(TypeReference type, MethodDefinition slot, Value[] arguments)
    {
        if (!slot.HasThis)
        {
            // A static member of an interface: any type's.
            return CallUnknown(arguments, $"is passed to {Describe(slot)}");
        }

        TypeDefinition? definition = type is GenericParameter or ArrayType ? null : _world.Resolve(type);
        if (definition is { IsValueType: true })
        {
            MethodDefinition[] own = [.. (_world.Targets(definition, slot) ?? []).Where(target => target.DeclaringType == definition)];
            return own.Length > 0 ? CallAll(own, arguments) : CallUnknown(arguments, $"is in a structure that {Describe(slot)} is called on");
        }

        if (definition is not null || type is ArrayType || type is GenericParameter { HasReferenceTypeConstraint: true })
        {
            arguments[0] = new Value(Load(arguments[0].Nodes), ValueShape.Plain);
            return CallVirtual(slot, arguments);
        }

        return CallUnknown(arguments, $"is passed to {Describe(slot)} of a type parameter");
    }

    private NodeSet CallVirtual(MethodDefinition slot, Value[] arguments)
    {
        // Only null, a constant or what others know: nothing of ours decides where the call goes.
        NodeSet receivers = arguments[0].Nodes.IsEmpty ? NodeSet.Of(Other) : arguments[0].Nodes;
        NodeSet result = new();
        NodeSet rest = new();
        foreach (int node in receivers.Members)
        {
            if (_siteOfNode.TryGetValue(node, out AllocationSite? site) && site.Node == node && TargetsOf(site, slot) is { } targets)
            {
                Value[] own = [.. arguments];
                own[0] = arguments[0] with { Nodes = NodeSet.Of(node) };
                result.UnionWith(CallAll(targets, own));
            }
            else
            {
                rest.Add(node);
            }
        }

        if (rest.IsEmpty)
        {
            return result;
        }

        Value[] others = [.. arguments];
        others[0] = arguments[0] with { Nodes = rest };
        bool matters = !Array.TrueForAll(others, argument => argument.Nodes.IsSubsetOf(_escaped));
        if (!matters && _world.IsPlain(slot.ReturnType))
        {
            return result;
        }

        IReadOnlyList<MethodDefinition>? candidates = _world.Candidates(slot, matters ? MostTargets : 2);
        bool onlyReceiver = others.Skip(1).All(argument => argument.Nodes.IsSubsetOf(_escaped)) && rest.Members.All(node => node <= 2 * _parameters);
        bool callersKnow = rest.Members.All(node => node <= 2 * _parameters) && slot.DeclaringType.IsInterface && candidates?.Count > MostCommonTargets;
        bool isWorthAll = candidates is { Count: 1 } || (candidates is { Count: > 1 } && !onlyReceiver && !callersKnow);
        result.UnionWith(isWorthAll ? CallAll(candidates!, others) : CallSlot(slot, others));
        return result;
    }

    /// <summary>A call whose target only the caller may know: it is noted for the parameter that it is called on.</summary>
    private NodeSet CallSlot(MethodDefinition slot, Value[] arguments)
    {
        string reason = $"is passed to {Describe(slot)}, which many classes have";
        _givesOther = true;
        NodeSet result = NodeSet.Of(Other);
        foreach (Value argument in arguments.Skip(1))
        {
            Escape(argument.Nodes, reason);
        }

        foreach (int node in arguments[0].Nodes.Members)
        {
            Virtual(node, slot, reason);
            result.UnionWith(Closure(NodeSet.Of(node)));
        }

        return result;
    }

    /// <summary>Somebody calls a virtual method on what this node stands for; what it returns is taken for the node, and what it is given has escaped.</summary>
    private void Virtual(int node, MethodDefinition slot, string reason)
    {
        if (node == Other || !_summaries.Has(EscapeRule.VirtualCalls))
        {
            return;
        }

        if (node <= 2 * _parameters)
        {
            List<MethodDefinition> slots = _slots[node - 1];
            if (slots.Contains(slot))
            {
                return;
            }

            if (slots.Count == MostSlots)
            {
                Escape(NodeSet.Of(node), "has too many virtual methods called");
                return;
            }

            slots.Add(slot);
            _changed = true;
            return;
        }

        if (!_siteOfNode.TryGetValue(node, out AllocationSite? site) || site.Node != node)
        {
            Escape(NodeSet.Of(node), reason);
            return;
        }

        bool isDelegate = site.Target is not null && slot.Name == "Invoke" && _world.IsDelegate(slot.DeclaringType);
        if (_world.IsDelegate(slot.DeclaringType) && slot.Name == "Invoke" && site.Target is null)
        {
            Escape(_contents[node], reason);
            return;
        }

        NodeSet receivers = isDelegate ? _contents[node] : NodeSet.Of(node);
        IReadOnlyList<MethodDefinition>? targets = isDelegate ? [site.Target!] : TargetsOf(site, slot);
        if (targets is null)
        {
            Escape(receivers, reason);
            return;
        }

        foreach (MethodDefinition target in targets.Where(target => !isDelegate || target.HasThis || target.Parameters.Count > slot.Parameters.Count))
        {
            MethodSummary summary = _summaries.Of(target);
            Receive(receivers, summary, ReasonIn(summary, 0, $"is kept by {Describe(target)}"));
        }
    }

    private void Receive(NodeSet receivers, MethodSummary summary, string reason)
    {
        // What it returns is taken for the object. Of another one that leads to the object nobody follows what becomes of it.
        const ulong Harmless = MethodSummary.Returned;
        if ((summary.Objects[0] & ~Harmless) != 0)
        {
            Escape(receivers, reason);
        }

        if ((summary.Contents[0] & ~Harmless) != 0)
        {
            foreach (int node in receivers.Members)
            {
                Escape(_contents[node], reason);
            }
        }

        Link(summary, 0, receivers, reason);

        // What it is given may come from anywhere.
        if ((summary.StoresOther & 1) != 0 || summary.Objects.Concat(summary.Contents).Any(flows => (flows & MethodSummary.Into(0)) != 0))
        {
            StoreUnknown(Closure(receivers), isFresh: false);
            NoteFresh(Closure(receivers));
        }
        else if ((summary.StoresFresh & 1) != 0)
        {
            StoreUnknown(Closure(receivers), isFresh: true);
            NoteFresh(Closure(receivers));
        }

        foreach (MethodDefinition slot in summary.Slots[0].ToArray())
        {
            Again(receivers, slot);
        }

        foreach (MethodDefinition slot in summary.ContentsSlots[0].ToArray())
        {
            Again(Closure(Load(receivers)), slot);
        }

        void Again(NodeSet nodes, MethodDefinition slot)
        {
            foreach (int node in nodes.Members)
            {
                if (_receiving.Add((node, slot)))
                {
                    Virtual(node, slot, reason);
                    _receiving.Remove((node, slot));
                }
            }
        }
    }

    /// <summary>What a virtual call may reach in an object that an instruction makes; null when its class is not known.</summary>
    private IReadOnlyList<MethodDefinition>? TargetsOf(AllocationSite site, MethodDefinition slot)
    {
        const int MostTypes = 8;
        if (site.IsOfUnknownType || site.Types.Count is 0 or > MostTypes)
        {
            return null;
        }

        HashSet<MethodDefinition> targets = [];
        foreach (TypeReference type in site.Types)
        {
            if (_world.Targets(type, slot) is not { } some)
            {
                return null;
            }

            targets.UnionWith(some);
        }

        return [.. targets];
    }

    private NodeSet CallDelegate(MethodDefinition invoke, Value[] arguments)
    {
        NodeSet result = new();
        NodeSet rest = new();
        foreach (int node in arguments[0].Nodes.Members)
        {
            if (_siteOfNode.TryGetValue(node, out AllocationSite? site) && site.Node == node && site.Target is { } target)
            {
                bool isClosed = target.HasThis || target.Parameters.Count > invoke.Parameters.Count;
                Value[] passed = isClosed ? [.. arguments] : arguments[1..];
                if (isClosed)
                {
                    passed[0] = new Value(_contents[node], ValueShape.Plain);
                }

                result.UnionWith(CallAll([target], passed));
            }
            else
            {
                rest.Add(node);
            }
        }

        if (!rest.IsEmpty || arguments[0].Nodes.IsEmpty)
        {
            Value[] others = [.. arguments];
            others[0] = arguments[0] with { Nodes = rest };
            result.UnionWith(CallSlot(invoke, others));
        }

        return result;
    }
}
