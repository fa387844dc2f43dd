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

    // System.Reflection.MethodAttributes.PinvokeImpl; the runtime's own bits end at 0x20. By ref and Reference of an argument are two of them.
    private const int PInvoke = 0x2000, OwnBits = 0x3F, ByRef = 0x1, Reference = 0x8;

    /// <inheritdoc/>
    public string Name => nameof(ReflectedCallPins);

    /// <inheritdoc/>
    public int Version => 2;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        TypeDefinition info = assembly.Type(Info);
        FieldDefinition kind = assembly.Field(Info, Kind, Info + "/Transform");
        MethodDefinition call = assembly.Method(Helper, "Call", "System.IntPtr", "System.Void*", "System.Byte&", "System.Byte&", "System.Void*");
        NoteTheKind(assembly, info, kind);
        MethodDefinition test = assembly.Injected.Method(InjectedRuntime.FullName, "IsReflectedNative"), held = InjectCall(assembly, info, call);

        foreach (MethodDefinition method in assembly.MethodsWithBody.ToArray())
        {
            Instruction[] sites = [.. method.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Call && instruction.Operand == call)];
            if (sites.Length == 0 || method == held)
            {
                continue;
            }

            if (method.DeclaringType != info || method.IsStatic)
            {
                throw assembly.Unexpected(method, $"calls by reflection in {Info} alone");
            }

            PinnedArguments.Locals locals = new(method.Body);
            method.Body.BeginEdit();
            foreach (Instruction site in sites)
            {
                Replace(method.Body, locals, site, call, test, held);
                statistics.Rewrite(method.FullName);
            }

            method.Body.EndEdit();
        }

        return true;
    }

    // stack: thunk, method, ref this, ref result, arguments. As the call of a native delegate: nothing changes for what is not native.
    private static void Replace(MethodBody body, PinnedArguments.Locals locals, Instruction site, MethodDefinition call, MethodDefinition test, MethodDefinition held)
    {
        VariableDefinition[] arguments = [.. call.Parameters.Select(parameter => locals.For(parameter.ParameterType, pinned: false, parameter.Index))];
        Instruction native = Instruction.Create(OpCodes.Nop), end = Instruction.Create(OpCodes.Nop);
        body.Replace(
            site,
            [
                .. arguments.Reverse().Select(local => Instruction.Create(OpCodes.Stloc, local)),
                Instruction.Create(OpCodes.Ldarg, body.ThisParameter),
                Instruction.Create(OpCodes.Ldloc, arguments[2]),
                Instruction.Create(OpCodes.Call, test),
                Instruction.Create(OpCodes.Brtrue, native),
                .. arguments.Select(local => Instruction.Create(OpCodes.Ldloc, local)),
                Instruction.Create(OpCodes.Call, call),
                Instruction.Create(OpCodes.Br, end),
                native,
                .. arguments.Select(local => Instruction.Create(OpCodes.Ldloc, local)),
                Instruction.Create(OpCodes.Ldarg, body.ThisParameter),
                Instruction.Create(OpCodes.Ldc_I4, 0),
                Instruction.Create(OpCodes.Call, held),
                end,
            ]);
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
            Instruction.Create(OpCodes.Ldarg, constructor.Parameters[0]),
            Instruction.Create(OpCodes.Callvirt, assembly.Method("System.Reflection.MethodBase", "get_Attributes")),
            Instruction.Create(OpCodes.Ldc_I4, PInvoke),
            Instruction.Create(OpCodes.And),
            Instruction.Create(OpCodes.Or));
        constructor.Body.EndEdit();
    }

    private static int? Number(Instruction instruction) => instruction.OpCode.Code switch
    {
        >= Code.Ldc_I4_0 and <= Code.Ldc_I4_8 => instruction.OpCode.Code - Code.Ldc_I4_0,
        Code.Ldc_I4_S => (sbyte)instruction.Operand,
        Code.Ldc_I4 => (int)instruction.Operand,
        _ => null,
    };

    /// <summary>
    /// <c>ref byte Call(thunk, method, ref this, ref result, ByReference* arguments, info, int index)</c>: pins the argument of this index, and calls itself for the next.
    /// The arguments are refs: to an object reference, or to a value, which may be in a box.
    /// </summary>
    private static MethodDefinition InjectCall(AssemblyUnderRewrite assembly, TypeDefinition info, MethodDefinition call)
    {
        TypeSystem types = assembly.Module.TypeSystem;
        ByReferenceType reference = new(types.Byte);
        MethodDefinition held = InjectedRuntime.AddMethod(
            InjectedRuntime.Class(assembly), "CallReflectedNative", MethodAttributes.Assembly, reference, [.. call.Parameters.Select(parameter => parameter.ParameterType), info, types.Int32]);
        held.ImplAttributes = MethodImplAttributes.NoInlining;
        held.CustomAttributes.Add(InjectedRuntime.HiddenInStackTraces(assembly.Module));
        FieldDefinition value = assembly.Field("System.ByReference", "Value", "System.Byte&");
        FieldDefinition arguments = assembly.Field(Info, "_arguments", Info + "/ArgumentInfo[]");
        TypeDefinition argument = assembly.Type(Info + "/ArgumentInfo");
        MethodDefinition transform = argument.Methods.Single(method => method.Name == "get_Transform");
        VariableDefinition place = new(new PinnedType(reference)), target = new(new PinnedType(types.Object)), slot = new(new PointerType(value.DeclaringType));
        new[] { place, target, slot }.ToList().ForEach(held.Body.Variables.Add);
        Instruction go = Instruction.Create(OpCodes.Nop), next = Instruction.Create(OpCodes.Nop);
        held.Body.Append(
            Instruction.Create(OpCodes.Ldarg, held.Parameters[6]),
            Instruction.Create(OpCodes.Ldarg, held.Parameters[5]),
            Instruction.Create(OpCodes.Ldfld, assembly.Field(Info, "_argumentCount", "System.Int32")),
            Instruction.Create(OpCodes.Bge, go),
            Instruction.Create(OpCodes.Ldarg, held.Parameters[4]),
            Instruction.Create(OpCodes.Ldarg, held.Parameters[6]),
            Instruction.Create(OpCodes.Conv_I),
            Instruction.Create(OpCodes.Sizeof, value.DeclaringType),
            Instruction.Create(OpCodes.Mul),
            Instruction.Create(OpCodes.Add),
            Instruction.Create(OpCodes.Stloc, slot),
            Instruction.Create(OpCodes.Ldloc, slot),
            Instruction.Create(OpCodes.Ldfld, value),
            Instruction.Create(OpCodes.Stloc, place),
            // The pin has made it current: that is what the callee is to get.
            Instruction.Create(OpCodes.Ldloc, slot),
            Instruction.Create(OpCodes.Ldloc, place),
            Instruction.Create(OpCodes.Stfld, value),
            Instruction.Create(OpCodes.Ldarg, held.Parameters[5]),
            Instruction.Create(OpCodes.Ldfld, arguments),
            Instruction.Create(OpCodes.Ldarg, held.Parameters[6]),
            Instruction.Create(OpCodes.Ldelema, argument),
            Instruction.Create(OpCodes.Call, transform),
            Instruction.Create(OpCodes.Ldc_I4, ByRef | Reference),
            Instruction.Create(OpCodes.And),
            Instruction.Create(OpCodes.Ldc_I4, Reference),
            Instruction.Create(OpCodes.Bne_Un, next),
            Instruction.Create(OpCodes.Ldloc, place),
            Instruction.Create(OpCodes.Ldind_Ref),
            Instruction.Create(OpCodes.Stloc, target),
            Instruction.Create(OpCodes.Ldloc, place),
            Instruction.Create(OpCodes.Ldloc, target),
            Instruction.Create(OpCodes.Stind_Ref),
            next);
        held.Body.Append(call.Parameters.Select(parameter => Instruction.Create(OpCodes.Ldarg, held.Parameters[parameter.Index])));
        held.Body.Append(
            Instruction.Create(OpCodes.Ldarg, held.Parameters[5]),
            Instruction.Create(OpCodes.Ldarg, held.Parameters[6]),
            Instruction.Create(OpCodes.Ldc_I4, 1),
            Instruction.Create(OpCodes.Add),
            Instruction.Create(OpCodes.Call, held),
            Instruction.Create(OpCodes.Ret),
            go);
        held.Body.Append(call.Parameters.Select(parameter => Instruction.Create(OpCodes.Ldarg, held.Parameters[parameter.Index])));
        held.Body.Append(Instruction.Create(OpCodes.Call, call), Instruction.Create(OpCodes.Ret));
        held.Body.EndEdit();
        return held;
    }
}
