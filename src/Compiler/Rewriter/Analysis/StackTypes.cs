using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Analysis;

/// <summary>
/// What the operands of comparisons, subtractions and calls in one method are: abstract interpretation over the control flow, with handlers. Operands
/// are unions over all paths. Locals have the kind of their type, whatever was stored there; but a number that is an address stays one.
/// A managed pointer also has a root: the argument or the instruction that it was derived from, by additions, in this method. Two pointers of one
/// root were made of one value, so that they name their object in the same way: a root is an argument, or what is executed once.
/// </summary>
public sealed class StackTypes
{
    private readonly MethodDefinition _method;
    private readonly IList<Instruction> _code;
    private readonly Dictionary<Instruction, int> _indexes = [];
    private readonly Value[]?[] _entries;
    private readonly Dictionary<Instruction, Value[]> _operands = [];
    private readonly Value[] _locals;
    private readonly int[] _argumentRoots;
    private readonly int _firstInstructionRoot;
    private readonly Queue<int> _work = new();
    private readonly Func<Instruction, bool> _isSite;
    private Value[] _stack = new Value[8];
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

        _entries = new Value[_code.Count][];
        _locals = [.. method.Body.Variables.Select(variable => new Value(ValueKinds.OfSignature(variable.VariableType), NoRoot))];
        _firstInstructionRoot = method.Parameters.Count + 2;
        _argumentRoots = [.. Enumerable.Range(1, method.Parameters.Count + 1)];
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
    public IReadOnlyList<StackValue> Operands(Instruction site) => Array.ConvertAll(_operands[site], operand => operand.Kind);

    /// <summary>Whether the two operands of a site are managed pointers that were derived from one.</summary>
    public bool HaveOneRoot(Instruction site) => _operands[site] is [var left, var right] && left.Root == right.Root && left.Root > NoRoot;

    // Not seen yet, and more than one: below all roots.
    private const int NoRoot = 0, ManyRoots = -1;

    private readonly record struct Value(StackValue Kind, int Root)
    {
        public static implicit operator Value(StackValue kind) => new(kind, ManyRoots);

        public Value Join(Value other) => new(JoinKinds(Kind, other.Kind), JoinRoots(Root, other.Root));
    }

    /// <summary>Pinned is what is pinned on all paths.</summary>
    private static StackValue JoinKinds(StackValue left, StackValue right)
    {
        StackValue union = left | right;
        return MayMove(left) || MayMove(right) ? union & ~StackValue.Pinned : union;

        static bool MayMove(StackValue kind) => (kind & StackValue.Pinned) == 0 && (kind & (StackValue.Object | StackValue.Reference)) != 0;
    }

    private static int JoinRoots(int left, int right) => left == NoRoot || left == right ? right : right == NoRoot ? left : ManyRoots;

    private void Run()
    {
        Reach(0, []);
        foreach (ExceptionHandler handler in _method.Body.ExceptionHandlers)
        {
            bool takesException = handler.HandlerType is ExceptionHandlerType.Catch or ExceptionHandlerType.Filter;
            Reach(_indexes[handler.HandlerStart], takesException ? [new Value(StackValue.Object, ManyRoots)] : []);
            if (handler.FilterStart is not null)
            {
                Reach(_indexes[handler.FilterStart], [new Value(StackValue.Object, ManyRoots)]);
            }
        }

        while (_work.TryDequeue(out int start))
        {
            Value[] entry = _entries[start]!;
            _depth = 0;
            foreach (Value value in entry)
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
    private void Reach(int index, ReadOnlySpan<Value> stack)
    {
        Value[]? known = _entries[index];
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
            Value union = known[i].Join(stack[i]);
            changed |= union != known[i];
            known[i] = union;
        }

        if (changed)
        {
            _work.Enqueue(index);
        }
    }

    private RewriteException Unexpected(string expected) => new(_method.Module.Assembly.Name.Name, _method.FullName, expected);

    private void Push(Value value)
    {
        if (_depth == _stack.Length)
        {
            Array.Resize(ref _stack, _depth * 2);
        }

        _stack[_depth++] = value;
    }

    private Value Pop()
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

        if (!_operands.TryGetValue(instruction, out Value[]? operands))
        {
            _operands[instruction] = operands = new Value[count];
        }

        for (int i = 0; i < count; i++)
        {
            operands[i] = operands[i].Join(_stack[_depth - count + i]);
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
                Value value = Pop();
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
            Value stored = Pop();
            Value known = _locals[local.Index];
            StackValue address = (known.Kind & StackValue.Number) != 0 ? stored.Kind & (StackValue.Address | StackValue.ToObject) : stored.Kind & StackValue.ToObject;
            Value joined = new(known.Kind | address, JoinRoots(known.Root, stored.Root));
            _localsChanged |= joined != known;
            _locals[local.Index] = joined;
            return true;
        }

        if (opCode.Code is Code.Starg or Code.Starg_S)
        {
            ref int root = ref _argumentRoots[((ParameterDefinition)instruction.Operand).Index + 1];
            int joined = JoinRoots(root, Pop().Root);
            _localsChanged |= joined != root;
            root = joined;
            return true;
        }

        Value second = pops > 1 ? _stack[Math.Max(_depth - 1, 0)] : StackValue.None;
        Value first = pops > 0 ? _stack[Math.Max(_depth - Math.Max(pops, 1), 0)] : StackValue.None;
        Pop(pops);
        if (instruction.Operand is Instruction branch)
        {
            Reach(_indexes[branch], _stack.AsSpan(0, _depth));
            return opCode.FlowControl != FlowControl.Branch;
        }

        if (opCode.StackBehaviourPush != StackBehaviour.Push0)
        {
            Push(new Value(Result(instruction, first.Kind, second.Kind), RootOf(instruction, first, second)));
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

        Value last = pops > 0 && _depth > 0 ? _stack[_depth - 1] : StackValue.None;
        Value origin = pops > 0 && _depth >= pops ? _stack[_depth - pops] : StackValue.None;
        Pop(pops);
        if (creates)
        {
            Push(ValueKinds.OfToken(called!.DeclaringType));
        }
        else if (!IsVoid(signature.ReturnType))
        {
            StackValue result = called is null ? ValueKinds.OfSignature(signature.ReturnType) : ResultOf(called, last.Kind);
            Push(new Value(result, called is not null && KeepsRoot(called) ? origin.Root : InstructionRoot(instruction, result)));
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
            case "AsPointer" when called.DeclaringType.FullName == IdentitySites.Unsafe:
                return AddressOf(argument);
            case "As" when called is GenericInstanceMethod { GenericArguments: [var from, var to] } && called.DeclaringType.FullName == IdentitySites.Unsafe:
                bool isWord = ValueKinds.OfSignature(from) == StackValue.Object && ValueKinds.OfSignature(to) == StackValue.Number;
                return StackValue.Reference | (isWord ? StackValue.ToObject : StackValue.None);
            default:
                return ValueKinds.OfSignature(called.ReturnType, called);
        }
    }

    /// <summary>Methods of <c>Unsafe</c> that add to a managed pointer, or only see another type there: the result has the root of the first argument.</summary>
    private static bool KeepsRoot(MethodReference called) =>
        called.DeclaringType.FullName == "System.Runtime.CompilerServices.Unsafe"
        && called.Name is "Add" or "AddByteOffset" or "Subtract" or "SubtractByteOffset" or "As" or "AsRef"
        && called.Parameters[0].ParameterType.IsByReference;

    private int RootOf(Instruction instruction, Value first, Value second) => instruction.OpCode.Code switch
    {
        Code.Ldarg_0 or Code.Ldarg_1 or Code.Ldarg_2 or Code.Ldarg_3 or Code.Ldarg or Code.Ldarg_S => _argumentRoots[ArgumentIndex(instruction) + 1],
        Code.Ldloc_0 or Code.Ldloc_1 or Code.Ldloc_2 or Code.Ldloc_3 or Code.Ldloc or Code.Ldloc_S => _locals[LocalOf(instruction)!.Index].Root,
        Code.Add => (first.Kind & StackValue.Reference) != 0 ? first.Root : second.Root,
        Code.Sub => first.Root,
        Code.Ldflda when (first.Kind & StackValue.Reference) != 0 => first.Root,
        Code.Ldflda or Code.Ldelema or Code.Ldfld or Code.Ldsflda or Code.Unbox => InstructionRoot(instruction, StackValue.Reference),
        _ => ManyRoots,
    };

    /// <summary>The instruction itself as a root, if no branch leads back over it: what it gives another time may have another name.</summary>
    private int InstructionRoot(Instruction instruction, StackValue result)
    {
        if ((result & StackValue.Reference) == 0)
        {
            return ManyRoots;
        }

        int index = _indexes[instruction];
        for (int i = index; i < _code.Count; i++)
        {
            bool back = _code[i].Operand switch
            {
                Instruction target => _indexes[target] <= index,
                Instruction[] targets => targets.Any(target => _indexes[target] <= index),
                _ => false,
            };
            if (back)
            {
                return ManyRoots;
            }
        }

        return _firstInstructionRoot + index;
    }

    private static bool IsVoid(TypeReference type) => type is IModifierType modified ? IsVoid(modified.ElementType) : type.MetadataType == MetadataType.Void;

    /// <summary>A number made of a value: an address when the value was a reference or an address.</summary>
    private static StackValue AddressOf(StackValue value) =>
        (value & StackValue.Pinned) == 0 && (value & (StackValue.Reference | StackValue.Object | StackValue.Address)) != 0
            ? StackValue.Number | StackValue.Address | (value & StackValue.ToObject)
            : StackValue.Number | (value & StackValue.ToObject);

    /// <summary>A number that is read through a pointer.</summary>
    private static StackValue NumberAt(StackValue pointer) => (pointer & StackValue.ToObject) != 0 ? StackValue.Number | StackValue.Address : StackValue.Number;

    private VariableDefinition? LocalOf(Instruction instruction) => instruction.OpCode.Code switch
    {
        Code.Ldloc_0 or Code.Stloc_0 => _method.Body.Variables[0],
        Code.Ldloc_1 or Code.Stloc_1 => _method.Body.Variables[1],
        Code.Ldloc_2 or Code.Stloc_2 => _method.Body.Variables[2],
        Code.Ldloc_3 or Code.Stloc_3 => _method.Body.Variables[3],
        Code.Ldloc or Code.Ldloc_S or Code.Stloc or Code.Stloc_S => (VariableDefinition)instruction.Operand,
        _ => null,
    };

    /// <summary>The index of the parameter that is loaded; -1 for this.</summary>
    private int ArgumentIndex(Instruction instruction)
    {
        int index = instruction.OpCode.Code switch { Code.Ldarg_0 => 0, Code.Ldarg_1 => 1, Code.Ldarg_2 => 2, Code.Ldarg_3 => 3, _ => -1 };
        return index < 0 ? ((ParameterDefinition)instruction.Operand).Index : _method.HasThis ? index - 1 : index;
    }

    private StackValue Argument(Instruction instruction)
    {
        int index = ArgumentIndex(instruction);
        if (index >= 0)
        {
            return ValueKinds.OfSignature(_method.Parameters[index].ParameterType);
        }

        if (!_method.DeclaringType.IsValueType)
        {
            return ValueKinds.OfSignature(_method.DeclaringType);
        }

        // A ref struct is on the stack.
        return ValueKinds.IsByRefLike(_method.DeclaringType) ? StackValue.Reference | StackValue.Pinned : StackValue.Reference;
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
                return _locals[LocalOf(instruction)!.Index].Kind;
            case Code.Ldfld or Code.Ldsfld:
                FieldReference field = (FieldReference)instruction.Operand;
                return ValueKinds.OfSignature(field.FieldType, field);
            case Code.Ldflda:
                // Of a raw pointer, a raw pointer.
                return (first & (StackValue.AnyObject | StackValue.Reference)) != 0 ? StackValue.Reference | (first & StackValue.Pinned) : first & ~StackValue.ToObject;
            case Code.Ldelema:
                return StackValue.Reference | (first & StackValue.Pinned);
            case Code.Ldarga or Code.Ldarga_S or Code.Ldloca or Code.Ldloca_S:
                // Nothing moves the stack.
                TypeReference type = instruction.Operand is VariableDefinition variable ? variable.VariableType : ((ParameterDefinition)instruction.Operand).ParameterType;
                return StackValue.Reference | StackValue.Pinned | (ValueKinds.OfSignature(type) == StackValue.Object ? StackValue.ToObject : StackValue.None);
            case Code.Ldsflda:
                return ValueKinds.IsOutsideHeap((FieldReference)instruction.Operand) ? StackValue.Reference | StackValue.Pinned : StackValue.Reference;
            case Code.Unbox or Code.Refanyval:
                return StackValue.Reference;
            case Code.Ldind_I or Code.Ldind_I8:
                return NumberAt(first);
            case Code.Ldelem_Any or Code.Ldobj or Code.Unbox_Any:
                StackValue value = ValueKinds.OfToken((TypeReference)instruction.Operand);
                return value == StackValue.Number ? NumberAt(first) : value;
            case Code.Box or Code.Castclass or Code.Isinst:
                return ((TypeReference)instruction.Operand).FullName == "System.RuntimeType" ? StackValue.RuntimeType : StackValue.Object;
            case Code.Newarr or Code.Ldelem_Ref or Code.Ldind_Ref:
                return StackValue.Object;
            case Code.Conv_U8 or Code.Conv_I8 or Code.Conv_U or Code.Conv_I or Code.Conv_Ovf_I or Code.Conv_Ovf_U or Code.Conv_Ovf_I_Un or Code.Conv_Ovf_U_Un:
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
        _ => IsVoid(_method.ReturnType) ? 0 : 1,
    };
}
