using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>
/// Finds the places where the objects that a method makes have had their last use: before an instruction that control reaches when no argument, local or value on the stack that is still
/// to be read can lead to the object.
/// </summary>
internal sealed class DeletionPlanner
{
    private readonly SummaryTable _summaries;
    private readonly ClosedWorld _world;
    private readonly MethodDefinition _method;
    private readonly IList<Instruction> _code;
    private readonly PointsTo _flow;
    private readonly Dictionary<Instruction, int> _indexes = [];
    private readonly NodeSet[]?[] _stacks;
    private readonly Liveness _liveness;
    private readonly NodeSet[] _slots;
    private readonly NodeSet[] _reached;

    private DeletionPlanner(SummaryTable summaries, MethodDefinition method, PointsTo flow)
    {
        _summaries = summaries;
        _world = summaries.World;
        _method = method;
        _code = method.Body.Instructions;
        _flow = flow;
        for (int i = 0; i < _code.Count; i++)
        {
            _indexes[_code[i]] = i;
        }

        _stacks = flow.RecordStacks();
        _liveness = new Liveness(method, summaries.Has(EscapeRule.Handlers));
        int arguments = PointsTo.CountOf(method);
        _slots = [.. Enumerable.Range(0, _liveness.Slots).Select(slot => flow.Closure(slot < arguments ? flow.Argument(slot) : flow.Local(slot - arguments)))];
        _reached = [.. Enumerable.Range(0, _code.Count).Select(ReachedFrom)];
    }

    /// <summary>The plan for a method; <paramref name="reasons"/> gets, for each object that it makes, why that stays, or null.</summary>
    public static DeletionPlan Plan(SummaryTable summaries, MethodDefinition method, PointsTo flow, Dictionary<AllocationSite, string?> reasons)
    {
        List<AllocationSite> ending = [];
        foreach (AllocationSite site in flow.Sites)
        {
            reasons[site] = flow.WhyItLives(site) ?? WhyNotHere(summaries.World, method, site);
            if (reasons[site] is null)
            {
                ending.Add(site);
            }
        }

        List<PlannedObject> objects = [];
        List<(int, int)> deletions = [];
        if (ending.Count > 0)
        {
            DeletionPlanner planner = new(summaries, method, flow);
            foreach (AllocationSite site in ending)
            {
                reasons[site] = planner.Add(site, objects, deletions);
            }
        }

        return new DeletionPlan(objects, deletions);
    }

    private static string? WhyNotHere(ClosedWorld world, MethodDefinition method, AllocationSite site)
    {
        if (method.Body.ExceptionHandlers.Any(handler => handler.HandlerType == ExceptionHandlerType.Filter))
        {
            return "is in a method with an exception filter";
        }

        if (method.Body.Instructions.Any(instruction => instruction.OpCode.Code == Code.Tail))
        {
            return "is in a method with tail calls";
        }

        Instruction at = site.Instruction;
        if (at.OpCode.Code == Code.Box)
        {
            // The JIT makes no box for these.
            bool isFolded = at.Next is { OpCode.Code: Code.Brtrue or Code.Brtrue_S or Code.Brfalse or Code.Brfalse_S or Code.Isinst or Code.Unbox or Code.Unbox_Any }
                || at.Next?.Operand is MethodReference { Name: "HasFlag" or "GetType" };
            return isFolded ? "is not made" : null;
        }

        if (at.OpCode.Code is Code.Newobj or Code.Newarr)
        {
            return null;
        }

        MethodReference called = (MethodReference)at.Operand;
        if (!world.IsReference(called.ReturnType))
        {
            return "is of a type that is not known here";
        }

        return site.MayBeArgument == 0 || CanCompare(world, at, called, site.MayBeArgument) ? null : "may be an argument";
    }

    /// <summary>Whether the arguments of a call can be kept and compared with what it returns.</summary>
    private static bool CanCompare(ClosedWorld world, Instruction call, MethodReference called, ulong arguments)
    {
        const int Most = 8;
        TypeReference[] types = [.. ArgumentTypes(called)];
        return call.Previous?.OpCode.OpCodeType != OpCodeType.Prefix && (!called.HasThis || world.IsReference(called.DeclaringType)) && called is not GenericInstanceMethod && called.DeclaringType is not GenericInstanceType and not ArrayType && types.Length <= Most
            && types.All(type => !type.ContainsGenericParameter && type is not IModifierType)
            && Enumerable.Range(0, types.Length).All(i => (arguments >> i & 1) == 0 || world.IsReference(types[i]));
    }

    /// <summary>The types of what a call takes from the stack.</summary>
    public static IEnumerable<TypeReference> ArgumentTypes(MethodReference called)
    {
        if (called.HasThis)
        {
            yield return called.DeclaringType;
        }

        foreach (ParameterDefinition parameter in called.Parameters)
        {
            yield return parameter.ParameterType;
        }
    }

    private string? Add(AllocationSite site, List<PlannedObject> objects, List<(int, int)> deletions)
    {
        int start = _indexes[site.Instruction];
        bool hasParts = site.Types.Count > 0 && !site.IsOfUnknownType && site.Types.All(type => type is TypeDefinition definition && _world.IsFramework(definition)) && _flow.PartsEnd(site)
            && !(_summaries.Has(EscapeRule.PartsWithFinalizers) && site.Types.Any(type => _world.PartsMayHaveFinalizers((TypeDefinition)type)));
        bool[] live = Array.ConvertAll(_reached, nodes => nodes.Contains(site.Node) || (hasParts && nodes.Contains(site.Node + 1)));
        if (live[start] && ComesAgain(start) && _summaries.Has(EscapeRule.Loops))
        {
            return "is still used when the next one is made";
        }

        List<int> places = [];
        bool[] pending = new bool[_code.Count];
        Queue<int> work = new(_liveness.Successors[start]);
        while (work.TryDequeue(out int i))
        {
            if (pending[i])
            {
                continue;
            }

            pending[i] = true;
            if (!live[i] && !IsBound(i))
            {
                if (_summaries.Has(EscapeRule.TailCalls) && EndsTailCall(i))
                {
                    return "is used last in a call in tail position";
                }

                places.Add(i);
                continue;
            }

            if (i == start && _summaries.Has(EscapeRule.Loops))
            {
                return "is still used when the next one is made";
            }

            foreach (int next in _liveness.Successors[i])
            {
                work.Enqueue(next);
            }
        }

        if (places.Count == 0)
        {
            return "has no last use on a path without an exception";
        }

        bool isResult = site.Instruction.OpCode.Code is not (Code.Newobj or Code.Newarr or Code.Box);
        deletions.AddRange(places.Order().Select(place => (place, objects.Count)));
        objects.Add(new PlannedObject(start, hasParts, isResult, site.MayBeArgument));
        return null;
    }

    private bool ComesAgain(int start)
    {
        HashSet<int> seen = [];
        Stack<int> work = new(_liveness.Successors[start]);
        while (work.TryPop(out int i))
        {
            if (i == start)
            {
                return true;
            }

            if (seen.Add(i))
            {
                foreach (int next in _liveness.Successors[i].Concat(_liveness.HandlersAt(i)))
                {
                    work.Push(next);
                }
            }
        }

        return false;
    }

    // Nothing may come between these and the instruction before.
    private bool IsBound(int index) =>
        index > 0 && (_code[index - 1].OpCode.OpCodeType == OpCodeType.Prefix || _code[index - 1].OpCode.Code is Code.Ldftn or Code.Ldvirtftn || _code[index].OpCode.Code is Code.Ldvirtftn);

    /// <summary>What arguments and locals that are still to be read, and the stack, lead to before each instruction.</summary>
    private NodeSet ReachedFrom(int index)
    {
        NodeSet reached = new();
        if (_stacks[index] is not { } stack)
        {
            return reached;  // control does not come here
        }

        for (int slot = 0; slot < _slots.Length; slot++)
        {
            if (!_slots[slot].IsEmpty && _liveness.IsLive(index, slot))
            {
                reached.UnionWith(_slots[slot]);
            }
        }

        foreach (NodeSet nodes in stack)
        {
            if (!nodes.IsEmpty && _summaries.Has(EscapeRule.StackValues))
            {
                reached.UnionWith(_flow.Closure(nodes));
            }
        }

        return reached;
    }

    // A call that returns at once takes no stack in optimised code, and a recursion may rely on that.
    private bool EndsTailCall(int index)
    {
        if (_code[index].OpCode.Code != Code.Ret || index == 0 || _code[index - 1].Operand is not MethodReference called || _code[index - 1].OpCode.Code == Code.Newobj)
        {
            return false;
        }

        return _world.Resolve(called) is not { } definition || definition.IsVirtual || !_world.IsFramework(definition.DeclaringType) || _world.IsDelegate(definition.DeclaringType);
    }
}
