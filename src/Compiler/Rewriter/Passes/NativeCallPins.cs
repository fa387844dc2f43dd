using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// The compiler's own marshalling code pins arrays, strings and refs that a P/Invoke takes, where no pass sees it. So the caller pins them around the call:
/// <list type="bullet">
/// <item>a P/Invoke with such parameters becomes an ordinary method that holds its arguments in pinned locals and calls the P/Invoke, which gets another
/// name. Whoever calls it, takes its address or finds it by reflection, in whatever assembly, comes through;</item>
/// <item>an unmanaged <c>calli</c> with such parameters becomes a call of a method that does the same.</item>
/// </list>
/// TouchBeforePin, which comes later, completes the pins. Source-generated P/Invokes (LibraryImport) pin in C# and have no such parameters left.
/// </summary>
public sealed class NativeCallPins : IRewritePass
{
    private const MethodCallingConvention Unmanaged = (MethodCallingConvention)9;

    /// <inheritdoc/>
    public string Name => nameof(NativeCallPins);

    /// <inheritdoc/>
    public int Version => 3;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <summary>Whether a method is one that the pass changes, or may contain one.</summary>
    public static bool Concerns(MethodDefinition method) =>
        method.IsPInvokeImpl ? NeedsPins(method) : method.HasBody && method.Body.Instructions.Any(IsNativeCall);

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        bool changed = false;
        foreach (MethodDefinition method in assembly.Module.GetTypes().SelectMany(type => type.Methods).ToArray())
        {
            if (method.IsPInvokeImpl)
            {
                if (NeedsPins(method))
                {
                    WrapPInvoke(method);
                    statistics.Rewrite(method.FullName);
                    changed = true;
                }
            }
            else if (method.HasBody)
            {
                changed |= WrapNativeCalls(method, statistics);
            }
        }

        return changed;
    }

    private static void WrapPInvoke(MethodDefinition method)
    {
        MethodDefinition native = new("<native>" + method.Name, method.Attributes, method.ReturnType)
        {
            IsPrivate = true,
            PInvokeInfo = method.PInvokeInfo,
            ImplAttributes = method.ImplAttributes,
        };
        foreach (ParameterDefinition parameter in method.Parameters)
        {
            // A flag says that a table has a row for the parameter, and ilc believes it: each stays with its row.
            ParameterDefinition same = new(parameter.Name, parameter.Attributes, parameter.ParameterType) { MarshalInfo = parameter.MarshalInfo, HasDefault = false };
            CopyAttributes(parameter, same);
            parameter.MarshalInfo = null;
            parameter.HasFieldMarshal = false;
            native.Parameters.Add(same);
        }

        native.MethodReturnType.MarshalInfo = method.MethodReturnType.MarshalInfo;
        native.MethodReturnType.Attributes = method.MethodReturnType.Attributes;
        method.MethodReturnType.MarshalInfo = null;
        method.MethodReturnType.HasFieldMarshal = false;
        CopyAttributes(method.MethodReturnType, native.MethodReturnType);
        CopyAttributes(method, native);
        method.DeclaringType.Methods.Add(native);

        method.PInvokeInfo = null;
        method.IsPInvokeImpl = false;
        method.ImplAttributes = MethodImplAttributes.IL | MethodImplAttributes.Managed;
        method.Body = new MethodBody(method) { InitLocals = true };
        PinnedArguments.Append(method, method.Parameters, parameter => NeedsPin(parameter.ParameterType));
        method.Body.Append(Instruction.Create(OpCodes.Call, native), Instruction.Create(OpCodes.Ret));
    }

    private static bool WrapNativeCalls(MethodDefinition method, PassStatistics statistics)
    {
        bool changed = false;
        foreach (Instruction call in method.Body.Instructions.Where(IsNativeCall).ToArray())
        {
            CallSite site = (CallSite)call.Operand;
            MethodDefinition wrapper = PinnedArguments.AddMethod(method.DeclaringType, method.Name, site.ReturnType, [.. site.Parameters, new ParameterDefinition(method.Module.TypeSystem.IntPtr)]);
            // Signatures have the numbers of generic parameters: with as many of its own they mean the same there.
            foreach (GenericParameter parameter in method.GenericParameters)
            {
                wrapper.GenericParameters.Add(new GenericParameter(parameter.Name, wrapper));
            }

            PinnedArguments.Append(wrapper, wrapper.Parameters.Take(site.Parameters.Count), parameter => NeedsPin(parameter.ParameterType));
            wrapper.Body.Append(Instruction.Create(OpCodes.Ldarg, wrapper.Parameters[^1]), Instruction.Create(OpCodes.Calli, site), Instruction.Create(OpCodes.Ret));
            PinnedArguments.Call(call, wrapper);
            statistics.Rewrite(method.FullName);
            changed = true;
        }

        return changed;
    }

    private static bool IsNativeCall(Instruction instruction) =>
        instruction.OpCode == OpCodes.Calli
        && instruction.Operand is CallSite { CallingConvention: MethodCallingConvention.C or MethodCallingConvention.StdCall or MethodCallingConvention.ThisCall or MethodCallingConvention.FastCall or Unmanaged } site
        && site.Parameters.Any(parameter => NeedsPin(parameter.ParameterType));

    private static bool NeedsPins(MethodDefinition method) => method.IsStatic && method.Parameters.Any(parameter => NeedsPin(parameter.ParameterType));

    /// <summary>Whether native code gets the address of managed memory. StringBuilders are copied, delegates and safe handles are not addresses of theirs.</summary>
    private static bool NeedsPin(TypeReference type)
    {
        type = PinnedArguments.WithoutModifiers(type);
        if (type.IsByReference || type.IsArray || type.FullName == "System.String")
        {
            return true;
        }

        // A class with a layout is passed by its address when its fields need no conversion.
        return !type.IsValueType && !type.IsPointer && !type.IsFunctionPointer && !type.IsGenericParameter && !type.IsPrimitive
            && type.Resolve() is { IsClass: true, IsValueType: false } definition && (definition.IsSequentialLayout || definition.IsExplicitLayout);
    }

    private static void CopyAttributes(ICustomAttributeProvider from, ICustomAttributeProvider to)
    {
        foreach (CustomAttribute attribute in from.CustomAttributes)
        {
            to.CustomAttributes.Add(attribute);
        }
    }
}
