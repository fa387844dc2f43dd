using System;
using System.Collections.Generic;
using System.Linq;
using Mono.Cecil;

namespace Freehold.Rewriter.Escape;

/// <summary>The summaries of all methods that were asked for. A cycle of calls is solved when the method that leads into it has been seen (Tarjan), to the least fixpoint.</summary>
public sealed class SummaryTable
{
    /// <summary>Methods that are longer are not looked into, nor are cycles of more methods.</summary>
    private const int LongestMethod = 4000, LargestCycle = 1000, DeepestCalls = 2000, MostRounds = 30;

    private readonly Dictionary<MethodDefinition, Entry> _entries = [];
    private readonly List<Entry> _open = [];
    private readonly EscapeRule? _without;
    private Entry? _current;
    private int _depth;
    private int _looks;

    /// <summary>Over the code of a world; <paramref name="without"/> one of the rules, in tests.</summary>
    public SummaryTable(ClosedWorld world, EscapeRule? without = null)
    {
        World = world;
        _without = without;
        Known = new KnownMethods(world);
    }

    /// <summary>Where the code is.</summary>
    public ClosedWorld World { get; }

    /// <summary>How many methods were summarized.</summary>
    public int Count => _entries.Count;

    /// <summary>What is known by name.</summary>
    internal KnownMethods Known { get; }

    /// <summary>The summary of a method; while a cycle that it is in is being solved, what is known so far.</summary>
    public MethodSummary Of(MethodDefinition method)
    {
        if (_entries.TryGetValue(method, out Entry? known))
        {
            if (!known.IsSolved && _current is { } caller)
            {
                caller.Callees.Add(known);
                caller.Low = Math.Min(caller.Low, known.Index);
                caller.CallsItself |= caller == known;
            }

            return known.Summary;
        }

        int parameters = PointsTo.CountOf(method);
        Entry entry = new(method, _open.Count, new MethodSummary(parameters));
        _entries[method] = entry;
        if (!KnownMethods.HasTrueBody(method) || method.Body.Instructions.Count > LongestMethod || _depth > DeepestCalls)
        {
            entry.Solve(MethodSummary.Unknown(parameters, KnownMethods.HasTrueBody(method) ? "is in too deep or long a chain of calls" : "is in code without IL"));
            return entry.Summary;
        }

        Entry? outer = _current;
        _current = entry;
        _open.Add(entry);
        _depth++;
        Improve(entry);
        if (entry.Low == entry.Index)
        {
            SolveFrom(entry.Index);
        }

        _depth--;
        _current = outer;
        if (outer is not null && !entry.IsSolved)
        {
            outer.Callees.Add(entry);
            outer.Low = Math.Min(outer.Low, entry.Low);
        }

        return entry.Summary;
    }

    /// <summary>Whether the rule is in force.</summary>
    internal bool Has(EscapeRule rule) => rule != _without;

    /// <summary>Where a method can delete what it makes.</summary>
    public DeletionPlan PlanFor(MethodDefinition method) => FlowOf(method) is { } flow ? DeletionPlanner.Plan(this, method, flow, []) : new DeletionPlan([], []);

    /// <summary>What the references in a method may lead to; null when that is not known.</summary>
    internal PointsTo? FlowOf(MethodDefinition method)
    {
        if (!KnownMethods.HasTrueBody(method) || method.Body.Instructions.Count > LongestMethod)
        {
            return null;
        }

        try
        {
            return PointsTo.Of(this, method);
        }
        catch (InvalidProgramException)
        {
            return null;
        }
    }

    private bool Improve(Entry entry)
    {
        if (entry.Summary.IsUnknown)
        {
            return false;
        }

        entry.LookedAt = ++_looks;
        if (FlowOf(entry.Method) is not { } flow)
        {
            entry.ChangedAt = _looks;
            entry.Summary = MethodSummary.Unknown(PointsTo.CountOf(entry.Method), "is in code that is not understood");
            return true;
        }

        if (!entry.Summary.Add(flow.Summarize()))
        {
            return false;
        }

        entry.ChangedAt = ++_looks;
        return true;
    }

    // All methods that were opened since are in the cycle. A new look at one of them may open more.
    private void SolveFrom(int first)
    {
        Entry root = _open[first];
        bool changed = _open.Count > first + 1 || root.CallsItself;
        for (int rounds = 0; changed && _open.Count - first <= LargestCycle && rounds < MostRounds; rounds++)
        {
            changed = false;
            for (int i = _open.Count - 1; i >= first; i--)
            {
                if (_open[i].Callees.Any(callee => callee.ChangedAt > _open[i].LookedAt))
                {
                    _current = _open[i];
                    changed |= Improve(_open[i]);
                }
            }
        }

        int low = first;
        for (int i = first; i < _open.Count; i++)
        {
            low = Math.Min(low, _open[i].Low);
        }

        if (low < first)
        {
            // The cycle is larger than the first look at its methods showed.
            root.Low = low;
            return;
        }

        for (int i = first; i < _open.Count; i++)
        {
            _open[i].Solve(changed ? MethodSummary.Unknown(PointsTo.CountOf(_open[i].Method), "is in too large a cycle of calls") : _open[i].Summary);
        }

        _open.RemoveRange(first, _open.Count - first);
    }

    private sealed class Entry(MethodDefinition method, int index, MethodSummary summary)
    {
        public MethodDefinition Method { get; } = method;

        public int Index { get; } = index;

        public int Low { get; set; } = index;

        public MethodSummary Summary { get; set; } = summary;

        public bool IsSolved { get; private set; }

        public bool CallsItself { get; set; }

        /// <summary>The methods of its cycle that it calls.</summary>
        public HashSet<Entry> Callees { get; } = [];

        /// <summary>When the method was looked at last, in a count of looks; and when the summary changed last.</summary>
        public int LookedAt { get; set; }

        public int ChangedAt { get; set; }

        public void Solve(MethodSummary summary)
        {
            Summary = summary;
            IsSolved = true;
        }
    }
}
