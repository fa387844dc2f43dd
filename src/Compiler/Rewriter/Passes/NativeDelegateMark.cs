using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Tells native delegates from managed ones at the price of a load and a test. A delegate's <c>_helperObject</c> is null, unless it is one of many functions, or a static
/// one with a first argument: native delegates get a mark there. <c>MulticastDelegate</c> has no use for it in these, and equality compares it as one object.
/// <para>
/// Marked are those that <c>Marshal.GetDelegateForFunctionPointer</c> makes, delegates of a P/Invoke, and delegates whose target is another delegate, also those that
/// reflection makes. Of a multicast delegate any may be native. The mark is no difference between two delegates: <c>Equals</c> and <c>GetHashCode</c> take it for null.
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
        FieldDefinition helper = coreLib.Field(Delegate, Field, "System.Object");
        MarkThoseOfFunctionPointers(coreLib, coreLib.Injected.Method(InjectedRuntime.FullName, SetName));
        MarkThoseOfReflection(coreLib);
        CompareWithoutMark(coreLib, helper);
    }

    /// <summary>
    /// What <c>MethodInfo.CreateDelegate</c> and <c>Delegate.CreateDelegate</c> make: <c>if (d._helperObject == null &amp;&amp; ((method.Attributes &amp; PinvokeImpl) != 0 || target
    /// is Delegate)) MarkNative(d)</c>. A static function with its first argument has that in the field already. If calls of the delegate would not pin what the P/Invoke
    /// needs, it becomes one of the method that pins (<see cref="PinningAttribute"/>).
    /// </summary>
    private static void MarkThoseOfReflection(AssemblyUnderRewrite coreLib)
    {
        const string Info = "System.Reflection.Runtime.MethodInfos.RuntimeMethodInfo";
        MethodDefinition make = coreLib.Method(Info, "CreateDelegateWithoutSignatureValidation", "System.Type", "System.Object", "System.Boolean", "System.Boolean");
        MethodDefinition invoker = coreLib.Method(
            "Internal.Reflection.Core.Execution.MethodBaseInvoker", "CreateDelegate", "System.RuntimeTypeHandle", "System.Object", "System.Boolean", "System.Boolean", "System.Boolean");
        (MethodDefinition Caller, Instruction Call)[] calls = [.. coreLib.CallsOf(invoker)];
        if (calls.Length != 1 || calls[0].Caller != make || calls[0].Call.Next.OpCode.Code != Code.Ret)
        {
            throw coreLib.Unexpected(make, "the one call that makes a delegate by reflection, at its end");
        }

        make.Body.BeginEdit();
        make.Body.InsertAfter(
            calls[0].Call,
            Emit.Load(make.Body.ThisParameter),
            Emit.Load(make.Parameters[1]),
            Emit.Load(make.Parameters[0]),
            Emit.CallVirtual(coreLib.Method("System.Type", "get_IsGenericType")),
            Emit.Call(coreLib.Injected.Method(InjectedRuntime.FullName, "MarkReflected")));
        make.Body.EndEdit();
    }

    // One of two delegates of a P/Invoke may have the mark: it depends on where they were made.
    private static void CompareWithoutMark(AssemblyUnderRewrite coreLib, FieldDefinition helper)
    {
        MethodDefinition strip = coreLib.Injected.Method(InjectedRuntime.FullName, "WithoutMark");
        foreach ((string name, string[] parameters, int count) in new (string, string[], int)[] { ("Equals", ["System.Object"], 2), ("GetHashCode", [], 1) })
        {
            MethodDefinition method = coreLib.Method(Delegate, name, parameters);
            Instruction[] loads = [.. method.Body.Instructions.Where(instruction => instruction.OpCode.Code == Code.Ldfld && instruction.Operand == helper && instruction.Next.OpCode.Code != Code.Isinst)];
            if (loads.Length != count)
            {
                throw coreLib.Unexpected(method, $"{count} uses of {Field} that are no test for a list");
            }

            method.Body.BeginEdit();
            foreach (Instruction load in loads)
            {
                method.Body.InsertAfter(load, Emit.Call(strip));
            }

            method.Body.EndEdit();
        }
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
        make.Body.InsertAfter(calls[0], Emit.Again(), Emit.Call(set));
        make.Body.EndEdit();
    }

    private static TypeReference DelegateType(AssemblyUnderRewrite assembly) =>
        assembly.Role == AssemblyRole.CoreLib ? assembly.Type(Delegate) : InjectedRuntime.Reference(assembly.Module, "System", "Delegate");
}
