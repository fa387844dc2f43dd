namespace Freehold.Compare;

/// <summary>
/// The order in which the programs of a round run. What one process leaves behind makes the next faster or slower. A hypervisor, for instance, has backed
/// the pages that it gave up: a heap that followed one with huge pages got its own with a fifth of the time in the kernel.
/// </summary>
internal static class Turns
{
    /// <summary>Each second round is reversed: every program follows itself or its neighbours, not always the same one.</summary>
    public static IEnumerable<KeyValuePair<Variant, string>> Of(Dictionary<Variant, string> programs, int round) =>
        round % 2 == 0 ? programs : programs.Reverse();
}
