namespace Freehold.Rewriter;

/// <summary>One transformation of IL. A pass has no state of its own between assemblies: what it learns goes into its statistics.</summary>
public interface IRewritePass
{
    /// <summary>The name in messages, statistics and the patch-set id.</summary>
    string Name { get; }

    /// <summary>Raised with each change of what the pass emits, so that caches of an older output are not used.</summary>
    int Version { get; }

    /// <summary>Whether the pass concerns assemblies of this role.</summary>
    bool AppliesTo(AssemblyRole role);

    /// <summary>Rewrites one assembly. Throws <see cref="RewriteException"/> when a site is not shaped as expected.</summary>
    /// <returns>Whether anything was changed.</returns>
    bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics);
}
