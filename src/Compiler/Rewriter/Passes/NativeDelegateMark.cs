using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Tells native delegates from managed ones at the price of a load and a test. A delegate's <c>_helperObject</c> is null, unless it is one of many functions, or a static
/// one with a first argument: native delegates get a mark there. <c>MulticastDelegate</c> has no use for it in these, and equality compares it as one object.
/// <para>
/// Marked are those that <c>Marshal.GetDelegateForFunctionPointer</c> makes, delegates of a P/Invoke, and delegates whose target is another delegate. Of a multicast delegate
/// any may be native. Not marked is what <c>MethodInfo.CreateDelegate</c> makes of a P/Invoke, or of the Invoke of another delegate.
/// </para>
/// </summary>
internal static class NativeDelegateMark
{
    private const string Delegate = "System.Delegate";
    private const string Field = "_helperObject";
    private const string SetName = "MarkNative";
    private const string TestName = "MayBeNative";

    /// <summary><c>void MarkNative(Delegate)</c>.</summary>
    public static MethodReference Set(AssemblyUnderRewrite assembly) => InjectedRuntime.Method(assembly, SetName, assembly.Module.TypeSystem.Void, DelegateType(assembly));

    /// <summary><c>bool MayBeNative(Delegate)</c>. Throws as a call of the delegate would, if it is null or deleted.</summary>
    public static MethodReference Test(AssemblyUnderRewrite assembly) => InjectedRuntime.Method(assembly, TestName, assembly.Module.TypeSystem.Boolean, DelegateType(assembly));

    /// <summary>Adds both to CoreLib, and marks the delegates that it makes.</summary>
    public static void Inject(AssemblyUnderRewrite coreLib)
    {
        TypeSystem types = coreLib.Module.TypeSystem;
        TypeDefinition owner = InjectedRuntime.Class(coreLib), delegates = coreLib.Type(Delegate), type = coreLib.Type("System.Type");
        FieldDefinition helper = coreLib.Field(Delegate, Field, "System.Object");

        // d._helperObject = typeof(NativeFunctionPointerWrapper): any object that is the same each time and is neither an array of delegates nor an argument.
        MethodDefinition set = InjectedRuntime.AddMethod(owner, SetName, MethodAttributes.Public, types.Void, delegates);
        set.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldtoken, coreLib.Type("System.Runtime.InteropServices.NativeFunctionPointerWrapper")),
            Instruction.Create(OpCodes.Call, coreLib.Method("System.Type", "GetTypeFromHandle", "System.RuntimeTypeHandle")),
            Instruction.Create(OpCodes.Stfld, helper),
            Instruction.Create(OpCodes.Ret));

        // return d._helperObject is Type or Wrapper[];   a static function whose first argument is a type is taken for native, and pays for pins.
        MethodDefinition slow = InjectedRuntime.AddMethod(owner, TestName + "Slow", MethodAttributes.Assembly, types.Boolean, types.Object);
        slow.ImplAttributes = MethodImplAttributes.NoInlining;
        Instruction native = Instruction.Create(OpCodes.Ldc_I4_1);
        slow.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Isinst, type),
            Instruction.Create(OpCodes.Brtrue_S, native),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Isinst, new ArrayType(coreLib.Type(Delegate + "/Wrapper"))),
            Instruction.Create(OpCodes.Ldnull),
            Instruction.Create(OpCodes.Cgt_Un),
            Instruction.Create(OpCodes.Ret),
            native,
            Instruction.Create(OpCodes.Ret));

        // return d._helperObject != null && MayBeNativeSlow(d._helperObject);
        MethodDefinition test = InjectedRuntime.AddMethod(owner, TestName, MethodAttributes.Public, types.Boolean, delegates);
        test.ImplAttributes = MethodImplAttributes.AggressiveInlining;
        test.CustomAttributes.Add(InjectedRuntime.HiddenInStackTraces(coreLib.Module));
        Instruction managed = Instruction.Create(OpCodes.Ldc_I4_0);
        test.Body.Append(
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldfld, helper),
            Instruction.Create(OpCodes.Brfalse_S, managed),
            Instruction.Create(OpCodes.Ldarg_0),
            Instruction.Create(OpCodes.Ldfld, helper),
            Instruction.Create(OpCodes.Call, slow),
            Instruction.Create(OpCodes.Ret),
            managed,
            Instruction.Create(OpCodes.Ret));

        MarkThoseOfFunctionPointers(coreLib, set);
    }

    private static void MarkThoseOfFunctionPointers(AssemblyUnderRewrite coreLib, MethodDefinition set)
    {
        MethodDefinition make = coreLib.Method("System.Runtime.InteropServices.PInvokeMarshal", "GetDelegateForFunctionPointer", "System.IntPtr", "System.RuntimeTypeHandle");
        Instruction[] calls = [.. make.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Calli)];
        MethodDefinition stub = coreLib.Method("Internal.Runtime.CompilerHelpers.RuntimeInteropData", "GetForwardDelegateCreationStub", "System.RuntimeTypeHandle");
        if (calls.Length != 1 || calls[0].Next.OpCode.Code != Code.Ret || coreLib.CallsOf(stub).Any(call => call.Caller != make))
        {
            throw coreLib.Unexpected(make, "one call of the stub that makes a delegate, and no other in the framework");
        }

        make.Body.BeginEdit();
        make.Body.InsertAfter(calls[0], Instruction.Create(OpCodes.Dup), Instruction.Create(OpCodes.Call, set));
        make.Body.EndEdit();
    }

    private static TypeReference DelegateType(AssemblyUnderRewrite assembly) =>
        assembly.Role == AssemblyRole.CoreLib ? assembly.Type(Delegate) : InjectedRuntime.Reference(assembly.Module, "System", "Delegate");
}
