using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// A delegate may be one that <c>Marshal.GetDelegateForFunctionPointer</c> made, and what such a one calls is the compiler's own marshalling code, where no pass sees
/// its pins. So whoever invokes a delegate of a type that could be made so, with arguments whose addresses native code would get, asks whether this one may be native
/// (<see cref="NativeDelegateMark"/>): then the arguments are pinned around the call. Else the call is what it was, a tail call if it was one.
/// <para>
/// Of generic types there are no such delegates. What the marshaller copies needs no pin: texts that become UTF-8, arrays of references, classes with a layout.
/// </para>
/// </summary>
public sealed class NativeDelegatePins : IRewritePass
{
    private const string Invoke = "Invoke";

    /// <inheritdoc/>
    public string Name => nameof(NativeDelegatePins);

    /// <inheritdoc/>
    public int Version => 3;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <summary>Whether the pass may change the method.</summary>
    public static bool Concerns(MethodDefinition method) => method.HasBody && method.Body.Instructions.Any(instruction => MayInvokeWithAddresses(instruction) || IsAddressOfInvoke(instruction));

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = assembly.Role == AssemblyRole.CoreLib;
        if (changed)
        {
            NativeDelegateMark.Inject(assembly);
        }

        Dictionary<TypeDefinition, MethodDefinition> apart = [];
        foreach (MethodDefinition method in assembly.MethodsWithBody.Where(Concerns).ToArray())
        {
            List<(Instruction Call, TypeDefinition Type, bool[] Pinned)> calls = [];
            Instruction[] addresses = [.. method.Body.Instructions.Where(IsAddressOfInvoke)];
            foreach (Instruction call in method.Body.Instructions.Where(MayInvokeWithAddresses))
            {
                TypeReference declared = ((MethodReference)call.Operand).DeclaringType;
                if (ValueKinds.Resolve(declared) is not { } type)
                {
                    // No code that runs has such a call: ilc makes it throw.
                    statistics.Skip(method.FullName, "of a type that is not there");
                }
                else if (IsDelegate(type))
                {
                    bool[] pinned = AddressesIn(type);
                    if (pinned.Contains(true))
                    {
                        calls.Add((call, type, pinned));
                        statistics.Rewrite(method.FullName);
                    }
                    else
                    {
                        statistics.Skip(method.FullName, "no argument whose address native code would get");
                    }
                }
            }

            if (calls.Count + addresses.Length > 0)
            {
                Rewrite(assembly, method, calls, addresses, apart);
                changed = true;
            }
        }

        return changed;
    }

    /// <summary>
    /// Whether the instruction makes a delegate of a function on the stack, and calls of that delegate pin all that the function needs:
    /// then the delegate is to be marked.
    /// </summary>
    public static bool PinsAllOf(Instruction? instruction, bool[] needed)
    {
        if (instruction?.OpCode.Code != Code.Newobj || instruction.Operand is not MethodReference { DeclaringType: not GenericInstanceType } constructor
            || ValueKinds.Resolve(constructor.DeclaringType) is not { } type || !IsDelegate(type))
        {
            return false;
        }

        bool[] pinned = AddressesIn(type);
        return pinned.Length == needed.Length && needed.Zip(pinned).All(pair => pair.Second || !pair.First);
    }

    // stack: delegate, arguments
    //   stloc arguments; dup; call MayBeNative; brtrue native; ldloc arguments; [tail.] callvirt Invoke; ret, or br end
    //   native: ldloc arguments; the call with pins
    //   end:
    private static void Rewrite(
        AssemblyUnderRewrite assembly, MethodDefinition method, List<(Instruction Call, TypeDefinition Type, bool[] Pinned)> calls, Instruction[] addresses, Dictionary<TypeDefinition, MethodDefinition> apart)
    {
        MethodBody body = method.Body;
        bool hasTailCalls = PinnedArguments.HasTailCalls(method);
        PinnedArguments.Locals locals = new(body);
        body.BeginEdit();
        foreach (Instruction address in addresses)
        {
            body.InsertAfter(address.Next, Emit.Again(), Emit.Call(NativeDelegateMark.Set(assembly)));
        }

        foreach ((Instruction call, TypeDefinition type, bool[] pinned) in calls)
        {
            MethodReference invoke = (MethodReference)call.Operand;
            Instruction again = Instruction.Create(call.OpCode, invoke), native = Emit.Label();
            (TypeReference, bool)[] arguments = [(invoke.DeclaringType, false), .. invoke.Parameters.Select(parameter => (parameter.ParameterType, pinned[parameter.Index]))];
            VariableDefinition[] held = [.. invoke.Parameters.Select(parameter => locals.For(parameter.ParameterType, pinned: false, parameter.Index))];
            List<Instruction> loads = [.. held.Select(local => Emit.Load(local))];
            List<Instruction> code = [.. held.Reverse().Select(local => Emit.Store(local))];
            code.AddRange([Emit.Again(), Emit.Call(NativeDelegateMark.Test(assembly)), Emit.JumpIfTrue(native), .. loads]);
            if (call.Previous?.OpCode.Code == Code.Tail)
            {
                code.Add(Instruction.Create(OpCodes.Tail));
            }

            Instruction end = call.Next;
            code.AddRange([again, PinnedArguments.IsInTailPosition(call) ? Emit.Return() : Emit.Jump(end), native]);
            code.AddRange(held.Select(local => Emit.Load(local)));
            if (hasTailCalls)
            {
                if (!apart.TryGetValue(type, out MethodDefinition? wrapper))
                {
                    wrapper = PinnedArguments.AddMethod(assembly, type.Name, invoke.ReturnType, arguments, Emit.CallVirtual(invoke));
                    apart.Add(type, wrapper);
                }

                code.Add(Emit.Call(wrapper));
            }
            else
            {
                code.AddRange(PinnedArguments.Around(locals, arguments, Emit.CallVirtual(invoke)));
            }

            body.Replace(call, code);
        }

        body.EndEdit();
    }

    // By the signature alone, without looking at the type.
    private static bool MayInvokeWithAddresses(Instruction instruction) =>
        instruction.OpCode.Code is Code.Callvirt or Code.Call
        && instruction.Operand is MethodReference { Name: Invoke, HasThis: true, DeclaringType: not GenericInstanceType } invoke and not GenericInstanceMethod
        && invoke.Parameters.Any(parameter => PinnedArguments.WithoutModifiers(parameter.ParameterType) is ArrayType or ByReferenceType or { MetadataType: MetadataType.String });

    // A delegate whose target is another delegate, which may be native.
    private static bool IsAddressOfInvoke(Instruction instruction) =>
        instruction.OpCode.Code is Code.Ldftn or Code.Ldvirtftn && instruction.Next?.OpCode.Code == Code.Newobj
        && instruction.Operand is MethodReference { Name: Invoke, HasThis: true, DeclaringType: not GenericInstanceType } invoke && ValueKinds.Resolve(invoke.DeclaringType) is { } type && IsDelegate(type);

    private static bool IsDelegate(TypeDefinition type) => type is { BaseType.FullName: "System.MulticastDelegate", HasGenericParameters: false };

    /// <summary>For each parameter of a delegate type: would native code get the address of managed memory?</summary>
    private static bool[] AddressesIn(TypeDefinition type)
    {
        CustomAttribute? how = type.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.FullName == "System.Runtime.InteropServices.UnmanagedFunctionPointerAttribute");
        // CharSet.Unicode is 3, CharSet.Auto 4.
        bool wide = how?.Fields.Any(field => field.Name == "CharSet" && field.Argument.Value is 3 or 4) ?? false;
        ParameterDefinition[] parameters = [.. type.Methods.Single(method => method.Name == Invoke).Parameters];
        return [.. parameters.Select(parameter => !parameters.Any(IsRefused) && PinnedArguments.WithoutModifiers(parameter.ParameterType) switch
        {
            ArrayType array => IsPlain(array.ElementType),
            ByReferenceType reference => IsPlain(reference.ElementType),
            { MetadataType: MetadataType.String } => PinnedArguments.IsWide(parameter, wide),
            _ => false,
        })];
    }

    // A delegate with such a parameter is never native: nothing marshals objects, and of generic types only structs that need no conversion.
    private static bool IsRefused(ParameterDefinition parameter)
    {
        TypeReference type = PinnedArguments.WithoutModifiers(parameter.ParameterType);
        return type is { MetadataType: MetadataType.Object } or GenericInstanceType && !IsPlain(type);
    }

    /// <summary>Whether values of the type hold no references. A type that is not there may be one of these.</summary>
    private static bool IsPlain(TypeReference type)
    {
        type = PinnedArguments.WithoutModifiers(type);
        if (type.IsPrimitive || type.IsPointer || type.IsFunctionPointer)
        {
            return true;
        }

        if (type.IsByReference || type.IsArray || type.IsGenericParameter)
        {
            return false;
        }

        return (type is not GenericInstanceType instance || instance.GenericArguments.All(IsPlain))
            && (ValueKinds.Resolve(type) is not { } definition
                || (definition.IsValueType && definition.Fields.Where(field => !field.IsStatic).All(field => field.FieldType.IsGenericParameter || IsPlain(field.FieldType))));
    }
}
