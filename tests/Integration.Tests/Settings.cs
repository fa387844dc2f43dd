namespace Freehold.Integration.Tests;

/// <summary>The settings under which everything runs again.</summary>
public static class Settings
{
    public static IReadOnlyDictionary<string, string> None { get; } = new Dictionary<string, string>();

    public static IReadOnlyDictionary<string, string> Verify { get; } = new Dictionary<string, string> { ["FREEHOLD_VERIFY"] = "1" };

    public static IReadOnlyDictionary<string, string> Mprotect { get; } = new Dictionary<string, string> { ["FREEHOLD_PROTECTION"] = "mprotect" };

    public static IReadOnlyDictionary<string, string> Stacks { get; } = new Dictionary<string, string> { ["FREEHOLD_DEBUG"] = "stacks" };

    public static IReadOnlyDictionary<string, string> DebugMprotect { get; } = new Dictionary<string, string> { ["FREEHOLD_DEBUG"] = "1", ["FREEHOLD_PROTECTION"] = "mprotect" };

    /// <summary>Each small object has a page of its own, as long as there are not too many.</summary>
    public static IReadOnlyDictionary<string, string> Guarded { get; } = new Dictionary<string, string> { ["FREEHOLD_SAMPLE"] = "1" };

    /// <summary>As many as the program allocates may live: where stacks are formatted with all objects guarded, those that the framework keeps would soon be too many, and what was deleted is forgotten.</summary>
    public static IReadOnlyDictionary<string, string> GuardedMprotect { get; } = new Dictionary<string, string>(Mprotect) { ["FREEHOLD_MAP_BUDGET"] = "200000" };

    /// <summary>A random half of the heap moves all the time.</summary>
    public static IReadOnlyDictionary<string, string> Moving { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:5000" };

    /// <summary>The same, and every stale reference faults; without userfaultfd.</summary>
    public static IReadOnlyDictionary<string, string> Faulting { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:10000,fault,delay", ["FREEHOLD_PROTECTION"] = "mprotect" };

    /// <summary>A random half of the heap moves all the time, and every place in the code that uses what has moved faults once.</summary>
    public static IReadOnlyDictionary<string, string> FaultingAtSites { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:10000,sites" };

    /// <summary>A random half of the heap moves all the time, and each time all references are made current.</summary>
    public static IReadOnlyDictionary<string, string> Remapping { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:5000,dedangle" };

    /// <summary>The same, and addresses that nothing names any more are used again at once.</summary>
    public static IReadOnlyDictionary<string, string> Reusing { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:5000,reuse", ["FREEHOLD_HUGE_PAGES"] = "0" };

    /// <summary>A random half of the heap moves all the time, and all that no root reaches is deleted as often.</summary>
    public static IReadOnlyDictionary<string, string> Reclaiming { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:5000,reclaim:3000" };

    /// <summary>The same, while the threads are stopped.</summary>
    public static IReadOnlyDictionary<string, string> ReclaimingStopped { get; } = new Dictionary<string, string>(Reclaiming) { ["FREEHOLD_RECLAIM_CONCURRENT"] = "0" };

    /// <summary>What no root reaches is found while the threads are stopped.</summary>
    public static IReadOnlyDictionary<string, string> Stopped { get; } = new Dictionary<string, string> { ["FREEHOLD_RECLAIM_CONCURRENT"] = "0" };

    /// <summary>A random half of the heap moves all the time, all references are made current, and threads are preempted for milliseconds at random instructions.</summary>
    public static IReadOnlyDictionary<string, string> Preempting { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "promote:2000,preempt" };

    /// <summary>So few that programs come to their end.</summary>
    public static IReadOnlyDictionary<string, string> FewAddresses { get; } = new Dictionary<string, string> { ["FREEHOLD_ADDRESS_SPACE"] = "64G" };

    public static IReadOnlyDictionary<string, string> FewAddressesMprotect { get; } = new Dictionary<string, string> { ["FREEHOLD_ADDRESS_SPACE"] = "64G", ["FREEHOLD_PROTECTION"] = "mprotect" };

    /// <summary>A random half of the heap moves at every hundredth deletion of a thread.</summary>
    public static IReadOnlyDictionary<string, string> MovingAtDeletions { get; } = new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "deletion:100" };

    public static IReadOnlyDictionary<string, string> Debug { get; } = new Dictionary<string, string> { ["FREEHOLD_DEBUG"] = "1" };
}
