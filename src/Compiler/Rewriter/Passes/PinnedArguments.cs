using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Holds the arguments of native calls in pinned locals, which TouchBeforePin completes. In the caller itself, so that stack traces and reflection see what they see
/// without; in a method of its own (<see cref="AddMethod"/>) where the caller makes calls that must not grow the stack: the JIT makes no implicit tail call
/// in a method with pinned locals.
/// </summary>
internal static class PinnedArguments
{
    /// <summary>The class of what the passes add to an assembly of the program.</summary>
    public const string HiddenClass = "<Freehold>";

    /// <summary>The locals of one method that hold arguments: sites share those of one type.</summary>
    public sealed class Locals(MethodBody body)
    {
        private readonly Dictionary<(string Type, int Index), VariableDefinition> _locals = [];

        /// <summary>A local for an argument.</summary>
        public VariableDefinition For(TypeReference type, bool pinned, int index)
        {
            TypeReference of = pinned ? new PinnedType(WithoutModifiers(type)) : WithoutModifiers(type);
            // Two types may have one name: those of two assemblies, the parameters of a generic type and of a method in it.
            string name = of.ContainsGenericParameter ? $"generic {_locals.Count}" : $"{of.FullName} {of.GetElementType().Scope?.Name}";
            (string, int) key = (name + (pinned ? " pinned" : ""), index);
            if (!_locals.TryGetValue(key, out VariableDefinition? local))
            {
                _locals[key] = local = new VariableDefinition(of);
                body.Variables.Add(local);
                // A pinned local that was never set must be null.
                body.InitLocals = true;
            }

            return local;
        }
    }

    /// <summary>
    /// The call with its arguments in pinned locals, which are let go behind it. They are on the stack when it begins.
    /// </summary>
    /// <param name="locals">Those of the method.</param>
    /// <param name="arguments">Types of the arguments, and whether each needs a pin; from the deepest on the stack on.</param>
    /// <param name="call">The instruction.</param>
    public static List<Instruction> Around(Locals locals, IReadOnlyList<(TypeReference Type, bool Pinned)> arguments, Instruction call)
    {
        int first = arguments.TakeWhile(argument => !argument.Pinned).Count();
        VariableDefinition[] held = [.. arguments.Select((argument, i) => i < first ? null! : locals.For(argument.Type, argument.Pinned, i))];
        List<Instruction> code = [];
        for (int i = arguments.Count - 1; i >= first; i--)
        {
            code.Add(Emit.Store(held[i]));
        }

        for (int i = first; i < arguments.Count; i++)
        {
            code.Add(Emit.Load(held[i]));
        }

        code.Add(call);
        for (int i = first; i < arguments.Count; i++)
        {
            if (arguments[i].Pinned)
            {
                // As the end of a fixed statement in C#.
                code.AddRange(held[i].VariableType is PinnedType { ElementType: ByReferenceType }
                    ? [Emit.Load(0), Instruction.Create(OpCodes.Conv_U), Emit.Store(held[i])]
                    : [Emit.Null(), Emit.Store(held[i])]);
            }
        }

        return code;
    }

    /// <summary>
    /// A static method that takes these arguments, pins those that need it and makes the call. It is in a class of its own, where no look at the program's types finds
    /// it, or in <paramref name="within"/>, hidden in stack traces, and never inlined: its pins would be the caller's.
    /// </summary>
    public static MethodDefinition AddMethod(
        AssemblyUnderRewrite assembly, string purpose, TypeReference returns, IReadOnlyList<(TypeReference Type, bool Pinned)> arguments, Instruction call, TypeDefinition? within = null)
    {
        TypeDefinition owner = within ?? Hidden(assembly);
        MethodDefinition method = InjectedRuntime.AddMethod(owner, $"{(within is null ? "" : HiddenClass)}{purpose}.{owner.Methods.Count}", MethodAttributes.Assembly, returns, [.. arguments.Select(argument => argument.Type)]);
        method.ImplAttributes = MethodImplAttributes.NoInlining;
        method.CustomAttributes.Add(InjectedRuntime.HiddenInStackTraces(owner.Module));
        foreach (ParameterDefinition parameter in method.Parameters)
        {
            method.Body.Append(Emit.Load(parameter));
        }

        method.Body.Append(Around(new Locals(method.Body), arguments, call));
        method.Body.Append(Emit.Return());
        method.Body.EndEdit();
        return method;
    }

    /// <summary>
    /// Whether the method makes a call in tail position that could come back to it again and again: one of this assembly, or of code that it does not know.
    /// </summary>
    public static bool HasTailCalls(MethodDefinition method) => method.Body.Instructions.Any(instruction =>
        IsInTailPosition(instruction) && instruction.Operand switch
        {
            MethodReference called => called.Resolve(method.Module) is { IsPInvokeImpl: false } || IsInvoke(called),
            CallSite site => site.CallingConvention is MethodCallingConvention.Default or MethodCallingConvention.Generic,
            _ => false,
        });

    /// <summary>Whether the instruction is a call, and nothing comes between it and the return.</summary>
    public static bool IsInTailPosition(Instruction instruction)
    {
        if (instruction.OpCode.Code is not (Code.Call or Code.Callvirt or Code.Calli))
        {
            return false;
        }

        Instruction? next = instruction.Next;
        while (next?.OpCode.Code == Code.Nop)
        {
            next = next.Next;
        }

        return next?.OpCode.Code == Code.Ret;
    }

    /// <summary>Whether a text goes to native code as it is, not as a copy.</summary>
    public static bool IsWide(ParameterDefinition text, bool byDefault) => (text.MarshalInfo?.NativeType ?? NativeType.LPTStr) switch
    {
        NativeType.LPWStr => true,
        NativeType.LPTStr => byDefault,
        _ => false,
    };

    /// <summary>The type that optional and required modifiers are put on.</summary>
    public static TypeReference WithoutModifiers(TypeReference type)
    {
        while (type is IModifierType modified)
        {
            type = modified.ElementType;
        }

        return type;
    }

    private static bool IsInvoke(MethodReference called) => called is { Name: "Invoke", HasThis: true };

    private static MethodDefinition? Resolve(this MethodReference called, ModuleDefinition module) =>
        called.GetElementMethod() is MethodDefinition definition ? definition
        : called.DeclaringType.GetElementType() is TypeDefinition type && type.Module == module ? MetadataResolver.GetMethod(type.Methods, called.GetElementMethod()) : null;

    private static TypeDefinition Hidden(AssemblyUnderRewrite assembly)
    {
        TypeDefinition? type = assembly.Module.GetType(HiddenClass);
        if (type is null)
        {
            type = new TypeDefinition(
                "", HiddenClass, TypeAttributes.NotPublic | TypeAttributes.Abstract | TypeAttributes.Sealed | TypeAttributes.BeforeFieldInit, assembly.Module.TypeSystem.Object);
            assembly.Module.Types.Add(type);
        }

        return type;
    }
}
