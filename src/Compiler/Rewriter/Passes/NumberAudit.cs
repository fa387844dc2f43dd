using System.Collections.Generic;
using System.IO;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter.Passes;

/// <summary>
/// No number without a pin. Looks at what the other passes have made and accounts for every instruction that turns a reference or a managed pointer into a
/// number or a raw pointer: what it leads to is pinned, or outside the heap, or the number is only tested, or the member is in the table of
/// <see cref="NumbersWithoutPin"/>. Any other is an error in the framework, and a warning (FH0014) in an application: after a stop of the threads the object
/// may be elsewhere, and the number leads nowhere. Changes nothing.
/// </summary>
public sealed class NumberAudit : IRewritePass
{
    /// <inheritdoc/>
    public string Name => nameof(NumberAudit);

    /// <inheritdoc/>
    public int Version => 1;

    /// <inheritdoc/>
    public bool AppliesTo(AssemblyRole role) => true;

    /// <inheritdoc/>
    public bool Run(AssemblyUnderRewrite assembly, PassStatistics statistics)
    {
        List<string> unaccounted = [];
        foreach (MethodDefinition method in assembly.MethodsWithBody)
        {
            foreach ((Instruction site, bool stays) in NumberSites.Of(method))
            {
                string? reason = ReasonOf(assembly, method, site, stays);
                if (reason is null)
                {
                    unaccounted.Add(PlaceOf(method, site));
                }

                statistics.Skip(method.FullName, reason ?? "a number without a pin");
            }
        }

        if (assembly.Role == AssemblyRole.Application)
        {
            assembly.Warnings.AddRange(unaccounted);
            return false;
        }

        if (unaccounted.Count > 0)
        {
            throw new RewriteException($"{assembly.Name}: a reference becomes a number without a pin, and {nameof(NumbersWithoutPin)} does not say why that is right:\n{string.Join('\n', unaccounted)}");
        }

        return false;
    }

    private static string? ReasonOf(AssemblyUnderRewrite assembly, MethodDefinition method, Instruction site, bool stays)
    {
        if (stays)
        {
            return "pinned, on the stack or data of the executable";
        }

        if (NumberSites.PushesNumber(site) && NumberUse.IsOnlyTested(method, site))
        {
            return "only tested, never an address";
        }

        return NumbersWithoutPin.Of(assembly, method);
    }

    // The offset in the input, which a disassembly shows: what the passes put in has none. And the line, where symbols know it.
    private static string PlaceOf(MethodDefinition method, Instruction site)
    {
        Instruction original = site;
        while (original.Offset == 0 && original.Previous is not null)
        {
            original = original.Previous;
        }

        SequencePoint? line = method.DebugInformation.SequencePoints.LastOrDefault(point => point.Offset <= original.Offset && !point.IsHidden);
        string source = line is null ? "" : $" ({Path.GetFileName(line.Document.Url)}:{line.StartLine})";
        return $"{method.FullName}, IL_{original.Offset:x4}{source}";
    }
}
