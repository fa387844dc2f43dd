using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// Runtime imports that block become P/Invokes. <c>GC.WaitForFullGCApproach</c> and <c>WaitForFullGCComplete</c> are plain calls into the runtime, and the
/// waiting thread lets others stop it meanwhile; but only a P/Invoke leaves a frame from which its stack can be walked, and what is pinned or must be
/// made current is looked for on the stacks of stopped threads.
/// </summary>
public sealed class BlockingImports : IRewritePass
{
    private const string Imports = "System.Runtime.RuntimeImports";

    /// <inheritdoc/>
    public string Name => nameof(BlockingImports);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        // The model: it blocks too, and is declared for it.
        MethodDefinition model = assembly.Method(Imports, "RhWaitForPendingFinalizers", "System.Int32");
        if (!model.HasPInvokeInfo)
        {
            throw assembly.Unexpected(model, "a P/Invoke");
        }

        foreach (string name in new[] { "RhWaitForFullGCApproach", "RhWaitForFullGCComplete" })
        {
            MethodDefinition method = assembly.Method(Imports, name, "System.Int32");
            CustomAttribute import = method.CustomAttributes.SingleOrDefault(attribute => attribute.AttributeType.Name == "RuntimeImportAttribute")
                ?? throw assembly.Unexpected(method, "a RuntimeImport");
            method.CustomAttributes.Remove(import);
            method.ImplAttributes = model.ImplAttributes;
            method.IsPInvokeImpl = true;
            method.PInvokeInfo = new PInvokeInfo(model.PInvokeInfo.Attributes, name, model.PInvokeInfo.Module);
            statistics.Rewrite(method.FullName);
        }

        return true;
    }
}
