using System.Globalization;

namespace Freehold.Tool.Deaths;

/// <summary>
/// What to check for a site: where a deletion might belong, and what was seen that speaks for it. One observation against it, of this site or of another one that the same field held, and there is none:
/// a deletion too many is worse than one too few. A scope needs less, as it deletes nothing that something outside leads to.
/// </summary>
internal sealed record DeathAdvice(AdviceKind Kind, string Text)
{
    /// <summary>Objects that must have been seen for it.</summary>
    public const int Least = 5;

    public static DeathAdvice Of(DeathProfile profile, DeathSite site)
    {
        long dead = site.Dead;
        if (dead == 0)
        {
            return None(site.Deleted != 0 ? "the program deletes them" : "none has died");
        }

        if (dead < Least)
        {
            return None(Invariant($"too few: {dead} died"));
        }

        // A few that live are there at each end of a run.
        if (site.Living > dead / 10 && site.Of(DeathKind.Unseen) + site.Of(DeathKind.Stack) == dead)
        {
            return None(Invariant($"no advice: {site.Living} live on beside {dead} that died"));
        }

        DeathAdvice field = Field(profile, site, dead);
        return field.Text.Length != 0 ? field : Scope(profile, site, dead);
    }

    // Without a text where no field had a part in it.
    private static DeathAdvice Field(DeathProfile profile, DeathSite site, long dead)
    {
        long shared = site.Of(DeathKind.Shared), elsewhere = site.Of(DeathKind.Handle) + site.Of(DeathKind.Other), stacks = site.Of(DeathKind.Stack);
        DeathRecord[] held = [.. site.Records.Where(record => record.Kind is DeathKind.HolderDied or DeathKind.Replaced)];
        return shared != 0 ? None(Invariant($"shared, no advice: several places held {shared} of {dead} at once"))
            : elsewhere != 0 ? None(Invariant($"no advice: handles, or what is no field, held {elsewhere} of {dead}"))
            : held.Length == 0 ? None("")
            : held.Select(record => (record.Holder, record.Offset)).Distinct().Count() != 1 ? None("no advice, they disagree: different fields held them last")
            // One that only a stack held was not there yet, or never: it says nothing of the field.
            : stacks > held.Sum(record => record.Samples) ? None(Invariant($"no advice, they disagree: a field held {held.Sum(record => record.Samples)} of {dead} last, stacks {stacks}"))
            : Field(profile, site, held, dead);
    }

    private static DeathAdvice Field(DeathProfile profile, DeathSite site, DeathRecord[] held, long dead)
    {
        FieldRecord? field = profile.Fields.FirstOrDefault(row => row.Type == held[0].Holder && row.Offset == held[0].Offset);
        string name = NameOf(profile, held[0].Holder, held[0].Offset);
        long seen = held.Sum(record => record.Samples), died = site.Of(DeathKind.HolderDied), replaced = site.Of(DeathKind.Replaced);
        if (field is null || seen < Least)
        {
            return None(Invariant($"too few: {seen} of {dead} were seen alive, held by {name}"));
        }

        if (field.Shared != 0)
        {
            return None(Invariant($"shared, no advice: {name} held objects that other places held too, as {field.Shared} looks saw"));
        }

        // Of what lives, some may have left the field for another owner: nobody saw who.
        if (field.Survived != 0 || field.Moved != 0)
        {
            return None(Invariant($"no advice: objects outlive {name}, which held them alone: {field.Survived} outlived its object, {field.Moved} another value of it"));
        }

        bool isArray = profile.Types[held[0].Holder].EndsWith("[]", StringComparison.Ordinal), isStatic = IsStatic(profile, held[0].Holder);
        string old = Invariant($"Heap.Delete the old value where {name} gets another one: {replaced} were dead then, none was seen alive");
        // A program cannot mark a field of the framework; what Freehold knows of the framework's parts goes with their owner.
        bool marks = !isArray && !IsFramework(profile.Types[held[0].Holder]);
        string owned = isArray ? Invariant($"Heap.DeleteAll on the collection of {name}: {died} died with their array, none outlived it")
            : marks ? Invariant($"[Owned] on {name}: {died} died with the object that has it, none outlived it")
            : Invariant($"Heap.Delete of the owner, by {name}: {died} died with it, none outlived it");
        if (died == 0 || isStatic)
        {
            return new(AdviceKind.Replaced, old);
        }

        return replaced == 0 ? new(marks ? AdviceKind.Owned : AdviceKind.Owner, owned) : new(marks ? AdviceKind.OwnedAndReplaced : AdviceKind.Owner, owned + ". And " + old);
    }

    // Only stacks held them, or nobody knows what did. Which frame of the allocation's stack they die in is not said: a method that was called again from the same place has an equal frame.
    private static DeathAdvice Scope(DeathProfile profile, DeathSite site, long dead)
    {
        if (!site.Stack.Any(place => !IsFramework(place)))
        {
            return None(site.Stack.Count == 0 ? "no advice: where they were allocated was not recorded" : "no advice: no method of the program is in the recorded stack");
        }

        DeathRecord[] seen = [.. site.Records.Where(record => record.Kind == DeathKind.Stack && record.Method >= 0 && !IsFramework(profile.Places[record.Method]))];
        long count = site.Of(DeathKind.Stack);
        if (count == 0)
        {
            return new(AdviceKind.Scope, Invariant($"Heap.Scope in a method below that does not give them out: no look found one of {dead} alive"));
        }

        if (seen.Sum(record => record.Samples) < Least)
        {
            return new(AdviceKind.Scope, Invariant($"Heap.Scope in a method below that does not give them out: only stacks held the {count} of {dead} that a look found alive"));
        }

        IGrouping<string, DeathRecord> most = seen.GroupBy(record => MethodOf(profile.Places[record.Method])).OrderByDescending(records => records.Sum(record => record.Samples)).ThenBy(records => records.Key, StringComparer.Ordinal).First();
        long held = most.Sum(record => record.Samples), gone = most.Where(record => record.FrameGone).Sum(record => record.Samples);
        return new(AdviceKind.Scope, Invariant($"Heap.Scope in {most.Key}: only stacks held the {count} of {dead} that a look found alive, its own held {held}, and {gone} of these were found dead when it had returned"));
    }

    public static string NameOf(DeathProfile profile, int type, long offset)
    {
        string name = profile.Types[type];
        return IsStatic(profile, type) ? Invariant($"a static field (at byte {offset} of its group)") : name.EndsWith("[]", StringComparison.Ordinal) ? $"an element of {name}" : Invariant($"the field at byte {offset} of {name}");
    }

    // What HeapDump of System.Heap calls what is no type of the program's.
    private static bool IsStatic(DeathProfile profile, int type) => profile.Types[type] == "(static fields)";

    // Without the line or the offset.
    private static string MethodOf(string place) => place.IndexOf(") ", StringComparison.Ordinal) is var end and >= 0 ? place[..(end + 1)] : place;

    // A program cannot put a scope there.
    private static bool IsFramework(string place) => place.StartsWith("System.", StringComparison.Ordinal) || place.StartsWith("Microsoft.", StringComparison.Ordinal) || place.StartsWith("Internal.", StringComparison.Ordinal);

    private static DeathAdvice None(string why) => new(AdviceKind.None, why);

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
