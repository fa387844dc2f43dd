using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// <c>RuntimeHelpers.Equals</c> compares boxed structs by a native function that takes references for numbers. Its import leads to
/// <c>BoxedValues.HaveSameContents</c> of assembly Freehold instead, which compares references as such.
/// </summary>
public sealed class BoxedContents : IRewritePass
{
    private const string Import = "RhCompareObjectContentsAndPadding";

    /// <inheritdoc/>
    public string Name => nameof(BoxedContents);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => role == AssemblyRole.CoreLib;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        MethodDefinition method = assembly.Method("System.Runtime.RuntimeImports", Import, "System.Object", "System.Object");
        CustomAttribute? import = method.CustomAttributes.FirstOrDefault(attribute => attribute.AttributeType.Name == "RuntimeImportAttribute");
        if (import?.ConstructorArguments[^1].Value is not Import || method.HasBody)
        {
            throw assembly.Unexpected(method, $"an extern method imported from {Import}");
        }

        method.CustomAttributes.Remove(import);
        method.CustomAttributes.Add(InjectedRuntime.ImportAttribute(assembly, "FreeholdSameContents"));
        statistics.Rewrite(method.FullName);
        return true;
    }
}
