using System.Collections.Generic;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// A delegate may be one that <c>Marshal.GetDelegateForFunctionPointer</c> made, and what such a one calls is the compiler's own marshalling code, where no pass sees
/// its pins. So whoever invokes a delegate of a type that could be made so, with arguments whose addresses native code would get, pins them around the call: it calls
/// a method that does. Which delegates are native is not known before they are called; the others pay for a pin.
/// <para>
/// Of generic types there are no such delegates. What the marshaller copies needs no pin: texts that become UTF-8, arrays of references, classes with a layout.
/// Delegates invoked by reflection, or as the target of another delegate, are not seen.
/// </para>
/// </summary>
public sealed class NativeDelegatePins : IRewritePass
{
    private const string Invoke = "Invoke";

    /// <inheritdoc/>
    public string Name => nameof(NativeDelegatePins);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <summary>Whether the pass may change the method.</summary>
    public static bool Concerns(MethodDefinition method) => method.HasBody && method.Body.Instructions.Any(MayInvokeWithAddresses);

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        Dictionary<(TypeDefinition Caller, TypeDefinition Delegate), MethodDefinition> wrappers = [];
        bool changed = false;
        foreach (MethodDefinition method in assembly.MethodsWithBody.Where(Concerns).ToArray())
        {
            foreach (Instruction call in method.Body.Instructions.Where(MayInvokeWithAddresses))
            {
                MethodReference invoke = (MethodReference)call.Operand;
                if (ValueKinds.Resolve(invoke.DeclaringType) is not { } type)
                {
                    // No code that runs has such a call: ilc makes it throw.
                    statistics.Skip(method.FullName, "of a type that is not there");
                    continue;
                }

                if (type is not { BaseType.FullName: "System.MulticastDelegate", HasGenericParameters: false })
                {
                    continue;
                }

                bool[] pinned = AddressesIn(type);
                if (!pinned.Contains(true))
                {
                    statistics.Skip(method.FullName, "no argument whose address native code would get");
                    continue;
                }

                if (!wrappers.TryGetValue((method.DeclaringType, type), out MethodDefinition? wrapper))
                {
                    wrapper = AddWrapper(method.DeclaringType, invoke, pinned);
                    wrappers.Add((method.DeclaringType, type), wrapper);
                }

                PinnedArguments.Call(call, wrapper);
                statistics.Rewrite(method.FullName);
                changed = true;
            }
        }

        return changed;
    }

    // By the signature alone, without looking at the type.
    private static bool MayInvokeWithAddresses(Instruction instruction) =>
        instruction.OpCode.Code is Code.Callvirt or Code.Call
        && instruction.Operand is MethodReference { Name: Invoke, HasThis: true, DeclaringType: not GenericInstanceType } invoke and not GenericInstanceMethod
        && invoke.Parameters.Any(parameter => PinnedArguments.WithoutModifiers(parameter.ParameterType) is ArrayType or ByReferenceType or { MetadataType: MetadataType.String });

    private static MethodDefinition AddWrapper(TypeDefinition caller, MethodReference invoke, bool[] pinned)
    {
        MethodDefinition wrapper = PinnedArguments.AddMethod(caller, Invoke, invoke.ReturnType, [new ParameterDefinition(invoke.DeclaringType), .. invoke.Parameters]);
        PinnedArguments.Append(wrapper, wrapper.Parameters, parameter => parameter.Index > 0 && pinned[parameter.Index - 1]);
        wrapper.Body.Append(Instruction.Create(OpCodes.Callvirt, invoke), Instruction.Create(OpCodes.Ret));
        return wrapper;
    }

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
            { MetadataType: MetadataType.String } => (parameter.MarshalInfo?.NativeType ?? NativeType.LPTStr) switch
            {
                NativeType.LPWStr => true,
                NativeType.LPTStr => wide,
                _ => false,
            },
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
