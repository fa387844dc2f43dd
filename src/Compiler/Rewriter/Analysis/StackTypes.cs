using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Analysis;

/// <summary>
/// What the operands of comparisons, subtractions and calls in one method are: abstract interpretation over the control flow, with handlers. Operands
/// are unions over all paths. Locals have the kind of their type, whatever was stored there; but a number that is an address stays one.
/// </summary>
public sealed class StackTypes
{
    private readonly MethodDefinition _method;
    private readonly IList<Instruction> _code;
    private readonly Dictionary<Instruction, int> _indexes = [];
    private readonly StackValue[]?[] _entries;
    private readonly Dictionary<Instruction, StackValue[]> _operands = [];
    private readonly StackValue[] _locals;
    private readonly Queue<int> _work = new();
    private readonly Func<Instruction, bool> _isSite;
    private StackValue[] _stack = new StackValue[8];
    private int _depth;
    private bool _localsChanged;

    private StackTypes(MethodDefinition method, Func<Instruction, bool> isSite)
    {
        _method = method;
        _isSite = isSite;
        _code = method.Body.Instructions;
        for (int i = 0; i < _code.Count; i++)
        {
            _indexes[_code[i]] = i;
        }

        _entries = new StackValue[_code.Count][];
        _locals = [.. method.Body.Variables.Select(variable => ValueKinds.OfSignature(variable.VariableType))];
    }

    /// <summary>Interprets a method and keeps the operands of the instructions that <paramref name="isSite"/> chooses.</summary>
    public static StackTypes Of(MethodDefinition method, Func<Instruction, bool> isSite)
    {
        StackTypes types = new(method, isSite);
        do
        {
            types._localsChanged = false;
            Array.Clear(types._entries);
            types.Run();
        }
        while (types._localsChanged);
        return types;
    }

    /// <summary>Whether control can reach the instruction.</summary>
    public bool IsReachable(Instruction site) => _operands.ContainsKey(site);

    /// <summary>The operands that a site pops, the first pushed first.</summary>
    public IReadOnlyList<StackValue> Operands(Instruction site) => _operands[site];

    private void Run()
    {
        Reach(0, []);
        foreach (ExceptionHandler handler in _method.Body.ExceptionHandlers)
        {
            bool takesException = handler.HandlerType is ExceptionHandlerType.Catch or ExceptionHandlerType.Filter;
            Reach(_indexes[handler.HandlerStart], takesException ? [StackValue.Object] : []);
            if (handler.FilterStart is not null)
            {
                Reach(_indexes[handler.FilterStart], [StackValue.Object]);
            }
        }

        while (_work.TryDequeue(out int start))
        {
            StackValue[] entry = _entries[start]!;
            _depth = 0;
            foreach (StackValue value in entry)
            {
                Push(value);
            }

            int index = start;
            while (Step(_code[index]))
            {
                index++;
                if (index == _code.Count)
                {
                    throw Unexpected("control that does not run past the end");
                }

                if (_entries[index] is not null)
                {
                    Reach(index, _stack.AsSpan(0, _depth));
                    break;
                }
            }
        }
    }

    /// <summary>Control reaches an instruction with this stack; it is interpreted again when that is news.</summary>
    private void Reach(int index, ReadOnlySpan<StackValue> stack)
    {
        StackValue[]? known = _entries[index];
        if (known is null)
        {
            _entries[index] = stack.ToArray();
            _work.Enqueue(index);
            return;
        }

        if (known.Length != stack.Length)
        {
            throw Unexpected($"one depth of the stack at {_code[index]} ({known.Length} or {stack.Length})");
        }

        bool changed = false;
        for (int i = 0; i < known.Length; i++)
        {
            StackValue union = known[i] | stack[i];
            changed |= union != known[i];
            known[i] = union;
        }

        if (changed)
        {
            _work.Enqueue(index);
        }
    }

    private RewriteException Unexpected(string expected) => new(_method.Module.Assembly.Name.Name, _method.FullName, expected);

    private void Push(StackValue value)
    {
        if (_depth == _stack.Length)
        {
            Array.Resize(ref _stack, _depth * 2);
        }

        _stack[_depth++] = value;
    }

    private StackValue Pop()
    {
        if (_depth == 0)
        {
            throw Unexpected("a value on the stack");
        }

        return _stack[--_depth];
    }

    private void Pop(int count)
    {
        for (int i = 0; i < count; i++)
        {
            Pop();
        }
    }

    private void Record(Instruction instruction, int count)
    {
        if (_depth < count)
        {
            throw Unexpected($"{count} values on the stack at {instruction}");
        }

        if (!_operands.TryGetValue(instruction, out StackValue[]? operands))
        {
            _operands[instruction] = operands = new StackValue[count];
        }

        for (int i = 0; i < count; i++)
        {
            operands[i] |= _stack[_depth - count + i];
        }
    }

    /// <summary>Interprets one instruction.</summary>
    /// <returns>Whether control goes on with the next one.</returns>
    private bool Step(Instruction instruction)
    {
        OpCode opCode = instruction.OpCode;
        if (opCode.Code == Code.Jmp)
        {
            return false;
        }

        if (opCode.FlowControl == FlowControl.Call)
        {
            return Call(instruction);
        }

        int pops = Pops(instruction);
        if (_isSite(instruction))
        {
            Record(instruction, pops);
        }

        switch (opCode.Code)
        {
            case Code.Dup:
                StackValue value = Pop();
                Push(value);
                Push(value);
                return true;
            case Code.Leave or Code.Leave_S:
                _depth = 0;
                Reach(_indexes[(Instruction)instruction.Operand], []);
                return false;
            case Code.Switch:
                Pop();
                foreach (Instruction target in (Instruction[])instruction.Operand)
                {
                    Reach(_indexes[target], _stack.AsSpan(0, _depth));
                }

                return true;
            case Code.Ret or Code.Throw or Code.Rethrow or Code.Endfinally or Code.Endfilter:
                return false;
        }

        if (LocalOf(instruction) is { } local && opCode.StackBehaviourPop != StackBehaviour.Pop0)
        {
            StackValue stored = Pop() & StackValue.Address;
            if ((_locals[local.Index] & StackValue.Number) != 0 && (_locals[local.Index] | stored) != _locals[local.Index])
            {
                _locals[local.Index] |= stored;
                _localsChanged = true;
            }

            return true;
        }

        StackValue second = pops > 1 ? _stack[Math.Max(_depth - 1, 0)] : StackValue.None;
        StackValue first = pops > 0 ? _stack[Math.Max(_depth - Math.Max(pops, 1), 0)] : StackValue.None;
        Pop(pops);
        if (instruction.Operand is Instruction branch)
        {
            Reach(_indexes[branch], _stack.AsSpan(0, _depth));
            return opCode.FlowControl != FlowControl.Branch;
        }

        if (opCode.StackBehaviourPush != StackBehaviour.Push0)
        {
            Push(Result(instruction, first, second));
        }

        return true;
    }

    private bool Call(Instruction instruction)
    {
        IMethodSignature signature = (IMethodSignature)instruction.Operand;
        MethodReference? called = instruction.Operand as MethodReference;
        bool creates = instruction.OpCode.Code == Code.Newobj;
        int pops = signature.Parameters.Count
            + (signature.HasThis && !signature.ExplicitThis && !creates ? 1 : 0)
            + (instruction.OpCode.Code == Code.Calli ? 1 : 0);
        if (_isSite(instruction))
        {
            Record(instruction, pops);
        }

        StackValue argument = pops > 0 && _depth > 0 ? _stack[_depth - 1] : StackValue.None;
        Pop(pops);
        if (creates)
        {
            Push(ValueKinds.OfToken(called!.DeclaringType));
        }
        else if (!IsVoid(signature.ReturnType))
        {
            Push(called is null ? ValueKinds.OfSignature(signature.ReturnType) : ResultOf(called, argument));
        }

        return true;
    }

    private static StackValue ResultOf(MethodReference called, StackValue argument)
    {
        switch (called.Name)
        {
            case "GetTypeFromHandle" when called.DeclaringType.FullName == "System.Type":
            case "GetType" when called.DeclaringType.FullName == "System.Object" && called.Parameters.Count == 0:
                return StackValue.RuntimeType;
            case "AsPointer" when called.DeclaringType.FullName == "System.Runtime.CompilerServices.Unsafe":
                return AddressOf(argument);
            default:
                return ValueKinds.OfSignature(called.ReturnType, called);
        }
    }

    private static bool IsVoid(TypeReference type) => type is IModifierType modified ? IsVoid(modified.ElementType) : type.MetadataType == MetadataType.Void;

    /// <summary>A number made of a value: an address when the value was a reference or an address.</summary>
    private static StackValue AddressOf(StackValue value) =>
        (value & StackValue.Pinned) == 0 && (value & (StackValue.Reference | StackValue.Object | StackValue.Address)) != 0
            ? StackValue.Number | StackValue.Address
            : StackValue.Number;

    private VariableDefinition? LocalOf(Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Ldloc_0 or Code.Stloc_0 => _method.Body.Variables[0],
        Code.Ldloc_1 or Code.Stloc_1 => _method.Body.Variables[1],
        Code.Ldloc_2 or Code.Stloc_2 => _method.Body.Variables[2],
        Code.Ldloc_3 or Code.Stloc_3 => _method.Body.Variables[3],
        Code.Ldloc or Code.Ldloc_S or Code.Stloc or Code.Stloc_S => (VariableDefinition)instruction.Operand,
        _ => null,
    };

    private StackValue Argument(Instruction instruction)
    {
        int index = instruction.OpCode.Code switch { Code.Ldarg_0 => 0, Code.Ldarg_1 => 1, Code.Ldarg_2 => 2, Code.Ldarg_3 => 3, _ => -1 };
        ParameterDefinition parameter;
        if (index < 0)
        {
            parameter = (ParameterDefinition)instruction.Operand;
            if (parameter.Index < 0)
            {
                return This();
            }
        }
        else
        {
            if (_method.HasThis && index-- == 0)
            {
                return This();
            }

            parameter = _method.Parameters[index];
        }

        return ValueKinds.OfSignature(parameter.ParameterType);

        StackValue This() => _method.DeclaringType.IsValueType ? StackValue.Reference : ValueKinds.OfSignature(_method.DeclaringType);
    }

    private StackValue Result(Instruction instruction, StackValue first, StackValue second)
    {
        switch (instruction.OpCode.Code)
        {
            case Code.Ldnull:
                return StackValue.Null;
            case Code.Ldstr:
                return StackValue.Literal;
            case Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3 or Code.Ldarg or Code.Ldarg_S:
                return Argument(instruction);
            case Code.Ldloc_0 or Code.Ldloc_1 or Code.Ldloc_2 or Code.Ldloc_3 or Code.Ldloc or Code.Ldloc_S:
                return _locals[LocalOf(instruction)!.Index];
            case Code.Ldfld or Code.Ldsfld:
                FieldReference field = (FieldReference)instruction.Operand;
                return ValueKinds.OfSignature(field.FieldType, field);
            case Code.Ldflda:
                // Of a raw pointer, a raw pointer.
                return (first & (StackValue.AnyObject | StackValue.Reference)) != 0 ? StackValue.Reference | (first & StackValue.Pinned) : first;
            case Code.Ldelema:
                return StackValue.Reference | (first & StackValue.Pinned);
            case Code.Ldarga or Code.Ldarga_S or Code.Ldloca or Code.Ldloca_S:
                // Nothing moves the stack.
                return StackValue.Reference | StackValue.Pinned;
            case Code.Ldsflda or Code.Unbox or Code.Refanyval:
                return StackValue.Reference;
            case Code.Ldelem_Any or Code.Ldobj or Code.Unbox_Any:
                return ValueKinds.OfToken((TypeReference)instruction.Operand);
            case Code.Box or Code.Castclass or Code.Isinst:
                return ((TypeReference)instruction.Operand).FullName == "System.RuntimeType" ? StackValue.RuntimeType : StackValue.Object;
            case Code.Newarr or Code.Ldelem_Ref or Code.Ldind_Ref:
                return StackValue.Object;
            case Code.Conv_U or Code.Conv_I or Code.Conv_Ovf_I or Code.Conv_Ovf_U or Code.Conv_Ovf_I_Un or Code.Conv_Ovf_U_Un:
                return AddressOf(first);
            case Code.Add or Code.Add_Ovf or Code.Add_Ovf_Un:
                return Moved(first | second);
            case Code.Sub or Code.Sub_Ovf or Code.Sub_Ovf_Un:
                // The difference of two references or addresses is a distance.
                return (second & (StackValue.Reference | StackValue.Address)) != 0 ? StackValue.Number : Moved(first);
            default:
                return instruction.OpCode.StackBehaviourPush == StackBehaviour.Pushref ? StackValue.Object : StackValue.Number;
        }
    }

    /// <summary>A reference or address plus a distance.</summary>
    private static StackValue Moved(StackValue operands) =>
        (operands & StackValue.Reference) != 0 ? operands & (StackValue.Reference | StackValue.Pinned) : StackValue.Number | (operands & StackValue.Address);

    private int Pops(Instruction instruction) => instruction.OpCode.StackBehaviourPop switch
    {
        StackBehaviour.Pop0 => 0,
        StackBehaviour.Pop1 or StackBehaviour.Popi or StackBehaviour.Popref => 1,
        StackBehaviour.Pop1_pop1 or StackBehaviour.Popi_pop1 or StackBehaviour.Popi_popi or StackBehaviour.Popi_popi8 or StackBehaviour.Popi_popr4
            or StackBehaviour.Popi_popr8 or StackBehaviour.Popref_pop1 or StackBehaviour.Popref_popi => 2,
        StackBehaviour.Popi_popi_popi or StackBehaviour.Popref_popi_popi or StackBehaviour.Popref_popi_popi8 or StackBehaviour.Popref_popi_popr4
            or StackBehaviour.Popref_popi_popr8 or StackBehaviour.Popref_popi_popref => 3,
        StackBehaviour.PopAll => _depth,
        // Only ret: control ends there.
        _ => 0,
    };
}
