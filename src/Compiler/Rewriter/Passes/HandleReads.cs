using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// A weak handle whose target was deleted reads null. All reads of handles in CoreLib meet in two methods: <c>RuntimeImports.RhHandleGet</c>
/// (an inlined load from the handle's cell; GCHandle, WeakReference, WeakReference&lt;T&gt;, DependentHandle.Target, ConditionalWeakTable and
/// UnsafeGCHandle use it) and <c>RuntimeImports.RhHandleGetDependent</c> (a native function). The first asks <c>freehold_handle_get</c> when the
/// cell is not null; the second asks it for the primary first, and reads null twice when that is deleted.
/// </summary>
public sealed class HandleReads : IRewritePass
{
    private const string Imports = "System.Runtime.RuntimeImports";

    /// <inheritdoc/>
    public string Name => nameof(HandleReads);

    /// <inheritdoc/>
    public int Version => 2;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        RequireNoOtherReader(assembly, assembly.Method(Imports, "_RhHandleGet", "System.IntPtr"));
        RequireNoOtherReader(assembly, assembly.Method("System.Runtime.InternalCalls", "RhHandleGet", "System.IntPtr"));
        RewriteGet(assembly, statistics);
        RewriteGetDependent(assembly, statistics);

        // The raw address of a target is only for handles that hold their target; nobody may ask a weak one for it.
        if (assembly.Names.RawTargetHandle is { } rawTargetHandle)
        {
            MethodDefinition rawTarget = assembly.Method(rawTargetHandle, "GetRawTargetAddress");
            foreach ((MethodDefinition caller, _) in assembly.CallsOf(rawTarget))
            {
                throw assembly.Unexpected(caller, "no use of UnsafeGCHandle.GetRawTargetAddress");
            }

            statistics.Skip(rawTarget.FullName, "never called");
        }

        return true;
    }

    private static void RewriteGet(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition method = assembly.Method(Imports, "RhHandleGet", "System.IntPtr");
        MethodBody body = method.Body;
        OpCode[] shape = [.. body.Instructions.Select(instruction => instruction.OpCode)];
        bool isLoadOfCell = shape is [var argument, var convert, var load, var end]
            && argument == OpCodes.Ldarg_0 && convert == OpCodes.Call && load == OpCodes.Ldind_Ref && end == OpCodes.Ret
            && body.Instructions[1].Operand is GenericInstanceMethod { Name: "As" };
        if (!isLoadOfCell)
        {
            throw assembly.Unexpected(method, $"ldarg.0; call Unsafe.As; ldind.ref; ret (found {string.Join("; ", shape)})");
        }

        assembly.Injected.Replace(Imports, method.Name);
        statistics.Rewrite(method.FullName);
    }

    private static void RewriteGetDependent(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition method = assembly.Method(Imports, "RhHandleGetDependent", "System.IntPtr", "System.Object&");
        CustomAttribute? import = method.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.Name == "RuntimeImportAttribute");
        if (import?.ConstructorArguments[^1].Value is not "RhHandleGetDependent" || method.HasBody)
        {
            throw assembly.Unexpected(method, "an extern method imported from RhHandleGetDependent");
        }

        method.CustomAttributes.Remove(import);
        method.ImplAttributes = MethodImplAttributes.IL | MethodImplAttributes.Managed;
        method.Body = new MethodBody(method);
        assembly.Injected.Replace(Imports, method.Name);
        statistics.Rewrite(method.FullName);
    }

    private static void RequireNoOtherReader(AssemblyUnderRewrite assembly, MethodDefinition reader)
    {
        foreach ((MethodDefinition caller, _) in assembly.CallsOf(reader))
        {
            throw assembly.Unexpected(caller, $"no direct call of {reader.FullName}");
        }
    }
}
