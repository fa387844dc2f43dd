using System.Collections.Generic;
using System.Linq;

namespace Freehold.Rewriter;

/// <summary>What one pass did over all assemblies of a run. Every site seen is either rewritten or skipped for a stated reason.</summary>
public sealed class PassStatistics(string pass)
{
    private readonly SortedDictionary<string, int> _skipped = new(System.StringComparer.Ordinal);
    private readonly List<string> _decisions = [];

    /// <summary>The name of the pass.</summary>
    public string Pass { get; } = pass;

    /// <summary>Sites that the pass changed.</summary>
    public int Rewritten { get; private set; }

    /// <summary>All sites that the pass looked at.</summary>
    public int Seen => Rewritten + _skipped.Values.Sum();

    /// <summary>Sites left alone, by reason.</summary>
    public IReadOnlyDictionary<string, int> Skipped => _skipped;

    /// <summary>One line per decision, for <c>--verbose</c>.</summary>
    public IReadOnlyList<string> Decisions => _decisions;

    /// <summary>Counts a site that was changed.</summary>
    public void Rewrite(string member)
    {
        Rewritten++;
        _decisions.Add($"{Pass}: {member}: rewritten");
    }

    /// <summary>Counts a site that was left alone.</summary>
    public void Skip(string member, string reason)
    {
        _skipped[reason] = _skipped.GetValueOrDefault(reason) + 1;
        _decisions.Add($"{Pass}: {member}: skipped, {reason}");
    }

    /// <summary>Throws <see cref="RewriteException"/> when one of these was not changed, or more than once, in the assemblies of a framework together.</summary>
    public void RequireOnce(IEnumerable<string> members)
    {
        foreach (string member in members)
        {
            int found = _decisions.Count(decision => decision == $"{Pass}: {member}: rewritten");
            if (found != 1)
            {
                throw new RewriteException("framework", member, $"one such type (found {found})");
            }
        }
    }
}
