using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>The deletions that the compiler adds to an application: what its methods make and can show to be dead.</summary>
public sealed class AutoDeletion : IDisposable
{
    /// <summary>Deep enough for the longest chain of calls that is followed.</summary>
    private const int StackBytes = 512 << 20;

    private readonly ClosedWorld _world;
    private readonly SummaryTable _summaries;
    private readonly List<string> _lines = [];
    private readonly Dictionary<string, int> _kept = [];
    private int _deleted;

    /// <summary>For these assemblies, whose references are in the folders.</summary>
    public AutoDeletion(IEnumerable<string> applications, IEnumerable<string> folders)
    {
        _world = new ClosedWorld(folders, applications);
        _summaries = new SummaryTable(_world);
    }

    /// <inheritdoc/>
    public void Dispose() => _world.Dispose();

    /// <summary>Adds deletions to a module, which was read from this file.</summary>
    /// <returns>Whether there are any.</returns>
    public bool Run(ModuleDefinition module, string file)
    {
        bool changed = false;
        foreach ((MetadataToken token, DeletionPlan plan) in Plan(file))
        {
            new DeletionWriter((MethodDefinition)module.LookupToken(token)).Write(plan);
            changed = true;
        }

        return changed;
    }

    /// <summary>The plans for the methods of an assembly, by their tokens; the report gets a line for each object.</summary>
    public IReadOnlyList<(MetadataToken Method, DeletionPlan Plan)> Plan(string file)
    {
        List<(MetadataToken, DeletionPlan)> plans = [];
        if (Path.GetFileNameWithoutExtension(file) == "Freehold")
        {
            return plans;  // what runs within a deletion does not delete by an analysis
        }

        OnDeepStack(() =>
        {
            foreach (MethodDefinition method in _world.Read(file).GetTypes().SelectMany(type => type.Methods))
            {
                if (_summaries.FlowOf(method) is { } flow)
                {
                    Dictionary<AllocationSite, string?> reasons = [];
                    DeletionPlan plan = DeletionPlanner.Plan(_summaries, method, flow, reasons);
                    if (plan.Objects.Count > 0)
                    {
                        plans.Add((method.MetadataToken, plan));
                    }

                    foreach (AllocationSite site in flow.Sites)
                    {
                        Note(method, site, reasons[site]);
                    }
                }
            }
        });
        return plans;
    }

    /// <summary>Writes what was found: how many places delete, how many do not and why, and then a line for each.</summary>
    public void WriteReport(string path)
    {
        IEnumerable<string> reasons = _kept.OrderByDescending(entry => entry.Value).ThenBy(entry => entry.Key, StringComparer.Ordinal).Select(entry => $"{entry.Value,8} {entry.Key}");
        File.WriteAllLines(path, [$"{_deleted} of {_deleted + _kept.Values.Sum()} places that make an object delete it; {_summaries.Count} methods were summarized.", "", "Left, because the object", .. reasons, "", .. _lines]);
    }

    private void Note(MethodDefinition method, AllocationSite site, string? reason)
    {
        _lines.Add($"{method.FullName}+{site.Instruction.Offset:x}: {site.Type.FullName}: {reason ?? "deleted"}");
        if (reason is null)
        {
            _deleted++;
        }
        else
        {
            // The call, without what happens in it.
            string first = reason.Split(',')[0];
            _kept[first] = _kept.GetValueOrDefault(first) + 1;
        }
    }

    /// <summary>Runs something that looks into calls within calls.</summary>
    public static void OnDeepStack(Action action)
    {
        Exception? failure = null;
        Thread thread = new(
            () =>
            {
                try
                {
                    action();
                }
                catch (Exception exception)
                {
                    failure = exception;
                }
            },
            StackBytes);
        thread.Start();
        thread.Join();
        if (failure is not null)
        {
            throw new RewriteException($"The analysis of escapes failed: {failure}");
        }
    }
}
