using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// P/Invokes and native delegates that are called by reflection (<c>MethodInfo.Invoke</c>, <c>Delegate.DynamicInvoke</c>): what their marshalling code would pin is pinned
/// around the call, for which all those calls meet in <c>DynamicInvokeInfo</c>. Whether a method is a P/Invoke is noted there when the method is looked up, in a bit
/// of <c>_returnTransform</c> that nothing else uses.
/// </summary>
public sealed class ReflectedCallPins : IRewritePass
{
    private const string Info = "System.Reflection.DynamicInvokeInfo";
    private const string Kind = "_returnTransform";
    private const string Helper = "System.Runtime.RawCalliHelper";

    // The bit of WithKind is System.Reflection.MethodAttributes.PinvokeImpl, 0x2000.
    private const int OwnBits = 0x3F;

    /// <inheritdoc/>
    public string Name => nameof(ReflectedCallPins);

    /// <inheritdoc/>
    public int Version => 4;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        TypeDefinition info = assembly.Type(Info);
        FieldDefinition kind = assembly.Field(Info, Kind, Info + "/Transform");
        MethodDefinition call = assembly.Method(Helper, "Call", "System.IntPtr", "System.Void*", "System.Byte&", "System.Byte&", "System.Void*");
        NoteTheKind(assembly, info, kind);
        MethodDefinition withPins = assembly.Injected.Method(InjectedRuntime.FullName, "CallReflected");

        foreach (MethodDefinition method in assembly.MethodsWithBody.ToArray())
        {
            Instruction[] sites = [.. method.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Call && instruction.Operand == call)];
            if (sites.Length == 0 || method.DeclaringType == withPins.DeclaringType)
            {
                continue;
            }

            if (method.DeclaringType != info || method.IsStatic)
            {
                throw assembly.Unexpected(method, $"calls by reflection in {Info} alone");
            }

            method.Body.BeginEdit();
            foreach (Instruction site in sites)
            {
                method.Body.Replace(site, Emit.This(), Emit.Call(withPins));
                statistics.Rewrite(method.FullName);
            }

            method.Body.EndEdit();
        }

        return true;
    }

    private static void NoteTheKind(AssemblyUnderRewrite assembly, TypeDefinition info, FieldDefinition kind)
    {
        MethodDefinition constructor = info.Methods.Single(method => method.IsConstructor && !method.IsStatic);
        List<Instruction> stores = [];
        foreach ((MethodDefinition user, Instruction use) in from user in info.Methods.Where(method => method.HasBody) from use in user.Body.Instructions where use.Operand == kind select (user, use))
        {
            if (use.OpCode.Code == Code.Stfld && user == constructor)
            {
                stores.Add(use);
            }
            else if (use.OpCode.Code != Code.Ldfld || use.Next.Next.OpCode.Code != Code.And || Number(use.Next) is not (> 0 and <= OwnBits))
            {
                throw assembly.Unexpected(user, $"tests of single bits of {Kind} ({use})");
            }
        }

        if (stores.Count != 1 || constructor.Parameters[0].ParameterType.FullName != "System.Reflection.MethodBase")
        {
            throw assembly.Unexpected(constructor, $"one store of {Kind}");
        }

        constructor.Body.BeginEdit();
        constructor.Body.InsertBefore(
            stores[0],
            Emit.Load(constructor.Parameters[0]),
            Emit.Call(assembly.Injected.Method(InjectedRuntime.FullName, "WithKind")));
        constructor.Body.EndEdit();
    }

    private static int? Number(Instruction instruction) => instruction.OpCode.Code switch
    {
        >= Code.Ldc_I4_0 and <= Code.Ldc_I4_8 => instruction.OpCode.Code - Code.Ldc_I4_0,
        Code.Ldc_I4_S => (sbyte)instruction.Operand,
        Code.Ldc_I4 => (int)instruction.Operand,
        _ => null,
    };
}
