using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>
/// The control flow of a method, and which arguments and locals may be read later, before each instruction. An address of one counts as a read; what is done through the address is
/// followed by the points-to sets. Where an exception may lead is control flow too: more paths make more live, never less.
/// </summary>
internal sealed class Liveness
{
    private readonly MethodDefinition _method;
    private readonly IList<Instruction> _code;
    private readonly Dictionary<Instruction, int> _indexes = [];
    private readonly int[][] _handlers;
    private readonly ulong[][] _live;

    /// <summary>Of a method without filters, whose order of execution is another one.</summary>
    public Liveness(MethodDefinition method, bool withHandlers)
    {
        _method = method;
        _code = method.Body.Instructions;
        for (int i = 0; i < _code.Count; i++)
        {
            _indexes[_code[i]] = i;
        }

        Slots = PointsTo.CountOf(method) + method.Body.Variables.Count;
        Successors = [.. Enumerable.Range(0, _code.Count).Select(i => SuccessorsOf(i).Distinct().ToArray())];
        _handlers = [.. Enumerable.Range(0, _code.Count).Select(i => withHandlers ? HandlersOf(i).ToArray() : [])];
        _live = [.. Enumerable.Range(0, _code.Count).Select(_ => new ulong[(Slots + 63) / 64])];
        Solve();
    }

    /// <summary>How many arguments and locals there are, the arguments first.</summary>
    public int Slots { get; }

    /// <summary>Where control goes on behind an instruction that throws nothing.</summary>
    public int[][] Successors { get; }

    /// <summary>Where control goes on behind an instruction that throws.</summary>
    public int[] HandlersAt(int instruction) => _handlers[instruction];

    /// <summary>Whether a slot may be read from before the instruction on.</summary>
    public bool IsLive(int instruction, int slot) => (_live[instruction][slot >> 6] >> (slot & 63) & 1) != 0;

    private void Solve()
    {
        bool changed;
        do
        {
            changed = false;
            for (int i = _code.Count - 1; i >= 0; i--)
            {
                ulong[] live = _live[i];
                (int slot, bool isWrite) = SlotOf(i);
                for (int word = 0; word < live.Length; word++)
                {
                    ulong bits = live[word];
                    foreach (int next in Successors[i])
                    {
                        bits |= _live[next][word];
                    }

                    if (slot >> 6 == word && slot >= 0)
                    {
                        ulong bit = 1UL << (slot & 63);
                        bits = isWrite ? bits & ~bit : bits | bit;
                    }

                    foreach (int handler in _handlers[i])
                    {
                        bits |= _live[handler][word];
                    }

                    changed |= bits != live[word];
                    live[word] = bits;
                }
            }
        }
        while (changed);
    }

    private (int Slot, bool IsWrite) SlotOf(int index)
    {
        Instruction at = _code[index];
        bool isWrite = at.OpCode.StackBehaviourPop != StackBehaviour.Pop0;
        if (IlSlots.ArgumentOf(_method, at) is int argument)
        {
            return (argument, isWrite);
        }

        return IlSlots.LocalOf(_method.Body, at) is { } local ? (PointsTo.CountOf(_method) + local.Index, isWrite) : (-1, false);
    }

    private IEnumerable<int> SuccessorsOf(int index)
    {
        Instruction at = _code[index];
        switch (at.OpCode.Code)
        {
            case Code.Ret or Code.Throw or Code.Rethrow or Code.Jmp or Code.Endfilter:
                return [];
            case Code.Leave or Code.Leave_S:
                return LeaveTo(index);
            case Code.Endfinally:
                // Of a finally: to where any leave of its block goes on.
                return from handler in _method.Body.ExceptionHandlers
                       where IsIn(index, handler.HandlerStart, handler.HandlerEnd)
                       from leave in Enumerable.Range(_indexes[handler.TryStart], _indexes[handler.TryEnd] - _indexes[handler.TryStart])
                       where _code[leave].OpCode.Code is Code.Leave or Code.Leave_S
                       from target in LeaveTo(leave)
                       select target;
        }

        IEnumerable<int> targets = at.Operand switch
        {
            Instruction target => [_indexes[target]],
            Instruction[] table => table.Select(target => _indexes[target]),
            _ => [],
        };
        return at.OpCode.FlowControl == FlowControl.Branch ? targets : targets.Append(index + 1);
    }

    // The target, and the finally blocks that run on the way.
    private IEnumerable<int> LeaveTo(int leave)
    {
        int target = _indexes[(Instruction)_code[leave].Operand];
        return _method.Body.ExceptionHandlers
            .Where(handler => handler.HandlerType == ExceptionHandlerType.Finally && IsIn(leave, handler.TryStart, handler.TryEnd) && !IsIn(target, handler.TryStart, handler.TryEnd))
            .Select(handler => _indexes[handler.HandlerStart])
            .Append(target);
    }

    private IEnumerable<int> HandlersOf(int index) =>
        from handler in _method.Body.ExceptionHandlers
        where IsIn(index, handler.TryStart, handler.TryEnd)
        select _indexes[handler.HandlerStart];

    private bool IsIn(int index, Instruction start, Instruction? end) => index >= _indexes[start] && (end is null || index < _indexes[end]);
}
