using System.Linq;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Large copies and fills go to <c>freehold_memmove</c> and <c>freehold_memset</c> instead of libc. The stock P/Invokes run in preemptive mode,
/// where a fault could not be turned into an exception of the caller; the new ones are imports, called like managed code, and the fault
/// handler knows how to unwind them by one return address. Their callers in <c>Buffer</c> keep their pins.
/// </summary>
/// <remarks>
/// The native moves compare the addresses that they are given. <see cref="ReferenceComparisons"/> sees to it that these name one object in one way.
/// </remarks>
public sealed class BlockMoves : IRewritePass
{
    private const string Imports = "System.Runtime.RuntimeImports";

    /// <inheritdoc/>
    public string Name => nameof(BlockMoves);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        Retarget(assembly, assembly.Method(Imports, "memmove", "System.Byte*", "System.Byte*", "System.UIntPtr"), "freehold_memmove", statistics);
        Retarget(assembly, assembly.Method(Imports, "memset", "System.Byte*", "System.Int32", "System.UIntPtr"), "freehold_memset", statistics);
        RequireWrapper(assembly, "memmove", assembly.Method("System.Buffer", assembly.Names.MoveByPointer, "System.Byte*", "System.Byte*", "System.UIntPtr"));
        RequireWrapper(assembly, "memset", assembly.Method("System.Buffer", assembly.Names.FillByPointer, "System.Void*", "System.UIntPtr"));
        return true;
    }

    private static void Retarget(AssemblyUnderRewrite assembly, MethodDefinition method, string symbol, PassStatistics statistics)
    {
        if (!method.IsPInvokeImpl || method.PInvokeInfo.EntryPoint != method.Name)
        {
            throw assembly.Unexpected(method, $"a P/Invoke of {method.Name}");
        }

        method.PInvokeInfo = null;
        method.IsPInvokeImpl = false;
        method.ImplAttributes = MethodImplAttributes.InternalCall;
        foreach (CustomAttribute attribute in method.CustomAttributes.ToArray())
        {
            method.CustomAttributes.Remove(attribute);
        }

        method.CustomAttributes.Add(InjectedRuntime.ImportAttribute(assembly, symbol));
        statistics.Rewrite(method.FullName);
    }

    /// <summary>The imports must be reached only through Buffer's wrappers, whose callers pin.</summary>
    private static void RequireWrapper(AssemblyUnderRewrite assembly, string import, MethodDefinition wrapper)
    {
        MethodDefinition target = assembly.Type(Imports).Methods.Single(method => method.Name == import);
        foreach ((MethodDefinition caller, Instruction _) in assembly.CallsOf(target))
        {
            if (caller != wrapper)
            {
                throw assembly.Unexpected(caller, $"{import} to be called by {wrapper.FullName} only");
            }
        }
    }
}
