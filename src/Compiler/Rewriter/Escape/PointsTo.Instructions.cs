using System;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Escape;

/// <summary>The interpretation of instructions other than calls.</summary>
internal sealed partial class PointsTo
{
    private static readonly Value s_other = new(NodeSet.Of(Other), ValueShape.Either);

    private readonly record struct Handled(bool GoesOn, bool IsUnderstood = true);

    /// <summary>All instructions once, in the order of the code; a branch backwards takes effect in the next round.</summary>
    private bool Round()
    {
        foreach (ExceptionHandler handler in _method.Body.ExceptionHandlers)
        {
            bool takesException = handler.HandlerType is ExceptionHandlerType.Catch or ExceptionHandlerType.Filter;
            Value[] entry = takesException ? [s_other] : [];
            if (!Reach(handler.HandlerStart, entry) || (handler.FilterStart is not null && !Reach(handler.FilterStart, entry)))
            {
                return false;
            }
        }

        bool flows = true;
        _depth = 0;
        for (int i = 0; i < _code.Count; i++)
        {
            if (flows && _entries[i] is not null && !Reach(_code[i], _stack.AsSpan(0, _depth)))
            {
                return false;
            }

            if (_entries[i] is { } known)
            {
                _depth = 0;
                foreach (Value value in known)
                {
                    Push(value);
                }
            }
            else if (!flows)
            {
                continue;
            }

            if (_recorded is not null)
            {
                _recorded[i] = [.. _stack.Take(_depth).Select(value => value.Nodes)];
            }

            _at = _code[i];
            Handled handled = Step();
            if (!handled.IsUnderstood || _depth < 0)
            {
                return false;
            }

            flows = handled.GoesOn;
        }

        return true;
    }

    private bool Reach(Instruction target, ReadOnlySpan<Value> stack)
    {
        int index = _indexes[target];
        Value[]? known = _entries[index];
        if (known is null)
        {
            known = new Value[stack.Length];
            for (int i = 0; i < known.Length; i++)
            {
                NodeSet copy = new();
                copy.UnionWith(stack[i].Nodes);
                known[i] = new Value(copy, stack[i].Shape);
            }

            _entries[index] = known;
            _changed = true;
            return true;
        }

        if (known.Length != stack.Length)
        {
            return false;
        }

        for (int i = 0; i < known.Length; i++)
        {
            _changed |= known[i].Nodes.UnionWith(stack[i].Nodes);
            if (known[i].Shape != stack[i].Shape && known[i].Shape != ValueShape.Either)
            {
                known[i] = known[i] with { Shape = ValueShape.Either };
                _changed = true;
            }
        }

        return true;
    }

    private void Push(Value value)
    {
        if (_depth == _stack.Length)
        {
            Array.Resize(ref _stack, _depth * 2);
        }

        _stack[_depth++] = Simplified(value);
    }

    private void Push(NodeSet nodes, ValueShape shape) => Push(new Value(nodes, shape));

    /// <summary>A value that the next instruction finds: what has escaped in it is one with what others know.</summary>
    private Value Simplified(Value value) => value.Nodes.Overlaps(_escaped) ? value with { Nodes = value.Nodes.Without(_escaped, Other) } : value;

    private Value Pop() => _depth > 0 ? _stack[--_depth] : throw new InvalidProgramException();

    private Handled Step()
    {
        Instruction at = _at;
        OpCode opCode = at.OpCode;
        switch (opCode.FlowControl)
        {
            case FlowControl.Call when opCode.Code != Code.Jmp:
                Call();
                return new Handled(GoesOn: true);
            case FlowControl.Branch when opCode.Code is Code.Leave or Code.Leave_S:
                _depth = 0;
                return new Handled(GoesOn: false, Reach((Instruction)at.Operand, []));
            case FlowControl.Branch when at.Operand is Instruction target:
                return new Handled(GoesOn: false, Reach(target, _stack.AsSpan(0, _depth)));
            case FlowControl.Cond_Branch:
                for (int pops = PopsOf(opCode); pops > 0; pops--)
                {
                    Pop();
                }

                Instruction[] targets = at.Operand as Instruction[] ?? [(Instruction)at.Operand];
                return new Handled(GoesOn: true, targets.All(target => Reach(target, _stack.AsSpan(0, _depth))));
        }

        switch (opCode.Code)
        {
            case Code.Ret:
                if (!_world.IsPlain(_method.ReturnType))
                {
                    _changed |= _returned.UnionWith(Pop().Nodes);
                }

                return new Handled(GoesOn: false);
            case Code.Throw:
                NodeSet thrown = Pop().Nodes;
                Escape(_summaries.Has(EscapeRule.Throws) ? thrown : NodeSet.Empty, "is thrown");
                return new Handled(GoesOn: false);
            case Code.Rethrow or Code.Endfinally or Code.Endfilter:
                _depth = 0;
                return new Handled(GoesOn: false);
            case Code.Jmp or Code.Arglist or Code.Mkrefany or Code.Refanyval or Code.Refanytype:
                return new Handled(GoesOn: false, IsUnderstood: false);
        }

        Interpret(at, opCode.Code);
        return new Handled(GoesOn: true);
    }

    private static int PopsOf(OpCode opCode) => opCode.StackBehaviourPop switch
    {
        StackBehaviour.Pop0 => 0,
        StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
        StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popi_popi8 or StackBehaviour.Popi_popr4
            or StackBehaviour.Popi_popr8 or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
        StackBehaviour.Popi_popi_popi or StackBehaviour.Popref_popi_popi or StackBehaviour.Popref_popi_popi8 or StackBehaviour.Popref_popi_popr4
            or StackBehaviour.Popref_popi_popr8 or StackBehaviour.Popref_popi_popref => 3,
        _ => throw new InvalidProgramException(),
    };

    private void Interpret(Instruction at, Code code)
    {
        if (IlSlots.ArgumentOf(_method, at) is int argument)
        {
            int cell = CellOfArgument(argument);
            if (code is Code.Starg or Code.Starg_S)
            {
                _changed |= _contents[cell].UnionWith(Pop().Nodes);
            }
            else
            {
                bool address = code is Code.Ldarga or Code.Ldarga_S;
                Push(address ? NodeSet.Of(cell) : _contents[cell], address ? ValueShape.Address : ShapeOfParameter(argument));
            }

            return;
        }

        if (IlSlots.LocalOf(_method.Body, at) is { } local)
        {
            int cell = CellOfLocal(local.Index);
            if (at.OpCode.StackBehaviourPop != StackBehaviour.Pop0)
            {
                _changed |= _contents[cell].UnionWith(Pop().Nodes);
            }
            else
            {
                bool address = code is Code.Ldloca or Code.Ldloca_S;
                Push(address ? NodeSet.Of(cell) : _contents[cell], address ? ValueShape.Address : ShapeOf(local.VariableType));
            }

            return;
        }

        int pops = PopsOf(at.OpCode);
        for (int i = pops; i > 0; i--)
        {
            _instructionOperands[i - 1] = Pop();
        }

        Value first = pops > 0 ? _instructionOperands[0] : Value.Nothing;
        Value second = pops > 1 ? _instructionOperands[1] : Value.Nothing;
        Value third = pops > 2 ? _instructionOperands[2] : Value.Nothing;
        switch (code)
        {
            case Code.Dup:
                Push(first);
                Push(first);
                break;
            case Code.Ldfld:
                Push(ReadField(first, (FieldReference)at.Operand));
                break;
            case Code.Ldflda:
                Push(first.Nodes, ValueShape.Address);
                break;
            case Code.Stfld:
                Store(first.Nodes, second.Nodes, $"is stored in {Describe((FieldReference)at.Operand)}");
                break;
            case Code.Ldsfld:
                FieldReference field = (FieldReference)at.Operand;
                if (_world.IsPlain(field.FieldType) || _summaries.Known.IsConstant(field))
                {
                    Push(Value.Nothing);
                }
                else if (HasSharedTexts(field))
                {
                    Push(field.FieldType is ArrayType ? NodeSet.Of(Texts()) : NodeSet.Empty, ValueShape.Plain);
                }
                else
                {
                    Push(s_other with { Shape = ShapeOf(field.FieldType) });
                }

                break;
            case Code.Ldsflda or Code.Localloc:
                Push(s_other);
                break;
            case Code.Stsfld:
                if (!AreNewTexts(first.Nodes) || !HasSharedTexts((FieldReference)at.Operand))
                {
                    Escape(_summaries.Has(EscapeRule.Statics) ? first.Nodes : NodeSet.Empty, $"is stored in {Describe((FieldReference)at.Operand)}");
                }

                break;
            case Code.Ldelem_Ref or Code.Ldind_Ref or Code.Ldelem_I or Code.Ldind_I:
                Push(Load(first.Nodes), code is Code.Ldelem_I or Code.Ldind_I ? ValueShape.Either : ValueShape.Plain);
                break;
            case Code.Ldelem_Any or Code.Ldobj:
                Push(_world.IsPlain((TypeReference)at.Operand) ? Value.Nothing : new Value(Load(first.Nodes), ShapeOf((TypeReference)at.Operand)));
                break;
            case Code.Ldelema or Code.Unbox:
                Push(first.Nodes, ValueShape.Address);
                break;
            case Code.Stelem_Ref or Code.Stelem_Any or Code.Stelem_I:
                Store(first.Nodes, third.Nodes, "is stored in an array that others know");
                break;
            case Code.Stind_Ref or Code.Stobj or Code.Stind_I:
                Store(first.Nodes, second.Nodes, "is stored where others know it");
                break;
            case Code.Stind_I8 or Code.Stelem_I8:
                Escape(pops > 2 ? third.Nodes : second.Nodes, "becomes a number");
                break;
            case Code.Cpobj or Code.Cpblk:
                Store(first.Nodes, Load(second.Nodes), "is copied to where others know it");
                break;
            case Code.Newarr:
                Push(NodeSet.Of(NewSite(_sites.TryGetValue(at, out AllocationSite? array) ? array.Type : new ArrayType((TypeReference)at.Operand)).Node), ValueShape.Plain);
                break;
            case Code.Box:
                Box(first, (TypeReference)at.Operand);
                break;
            case Code.Unbox_Any:
                Push(Unboxed(first.Nodes, (TypeReference)at.Operand));
                break;
            case Code.Castclass or Code.Isinst:
                Push(first.Nodes, ValueShape.Plain);
                break;
            case Code.Conv_I or Code.Conv_U or Code.Conv_Ovf_I or Code.Conv_Ovf_U or Code.Conv_Ovf_I_Un or Code.Conv_Ovf_U_Un:
                Push(first.Nodes, ValueShape.Either);
                break;
            case Code.Conv_I8 or Code.Conv_U8 or Code.Conv_Ovf_I8 or Code.Conv_Ovf_U8:
                Escape(_summaries.Has(EscapeRule.Numbers) ? first.Nodes : NodeSet.Empty, "becomes a number");
                Push(Value.Nothing);
                break;
            case Code.Shl or Code.Shr or Code.Shr_Un or Code.Div or Code.Div_Un or Code.Rem or Code.Rem_Un or Code.Not or Code.Neg
                or Code.Add or Code.Sub or Code.And or Code.Or or Code.Xor or Code.Mul or Code.Add_Ovf or Code.Add_Ovf_Un or Code.Sub_Ovf or Code.Sub_Ovf_Un:
                Push(first.Nodes.Plus(second.Nodes), ValueShape.Either);
                break;
            default:
                if (at.OpCode.StackBehaviourPush != StackBehaviour.Push0)
                {
                    Push(Value.Nothing);
                }

                break;
        }
    }

    private Value ReadField(Value from, FieldReference field)
    {
        if (_world.IsPlain(field.FieldType))
        {
            return Value.Nothing;
        }

        bool isStructure = from.Shape != ValueShape.Address && _world.Resolve(field.DeclaringType) is not { IsValueType: false };
        NodeSet nodes = isStructure && from.Shape == ValueShape.Plain ? from.Nodes : isStructure ? from.Nodes.Plus(Load(from.Nodes)) : Load(from.Nodes);
        return new Value(nodes, field.FieldType is GenericParameter ? ValueShape.Either : ShapeOf(field.FieldType));
    }

    // Of a type parameter: a box, or the reference itself.
    private void Box(Value value, TypeReference type)
    {
        bool isParameter = type is GenericParameter { HasNotNullableValueTypeConstraint: false };
        bool isReference = type is ArrayType || (!isParameter && type is not GenericParameter && _world.Resolve(type) is { IsValueType: false });
        if (isReference)
        {
            Push(value);
            return;
        }

        AllocationSite site = type is GenericParameter ? SiteOf(type) : NewSite(type);
        site.IsOfUnknownType = type is GenericParameter;
        Store(NodeSet.Of(site.Node), value.Nodes, "is boxed");
        site.MayBeOther = site.MayBeOther || isParameter;
        Push(NodeSet.Of(site.Node).Plus(isParameter ? value.Nodes : NodeSet.Empty), ValueShape.Plain);
    }

    private Value Unboxed(NodeSet nodes, TypeReference type)
    {
        if (_world.IsPlain(type))
        {
            return Value.Nothing;
        }

        TypeDefinition? definition = type is GenericParameter or ArrayType ? null : _world.Resolve(type);
        return type is ArrayType || definition is { IsValueType: false }
            ? new Value(nodes, ValueShape.Plain)
            : new Value(definition is null ? nodes.Plus(Load(nodes)) : Load(nodes), ValueShape.Plain);
    }

    private static string Describe(MemberReference member) => $"{member.DeclaringType?.Name}.{member.Name}";
}
