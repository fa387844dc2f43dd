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

        DeathAdvice field = Field(profile, site, dead), scope = field.Kind == AdviceKind.None ? Scope(site, dead) : field;
        return scope.Kind != AdviceKind.None || field.Text.Length == 0 ? scope : field;
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
        string owned = isArray ? Invariant($"Heap.DeleteAll on the collection of {name}: {died} died with their array, none outlived it") : Invariant($"[Owned] on {name}: {died} died with the object that has it, none outlived it");
        if (died == 0 || isStatic)
        {
            return new(AdviceKind.Replaced, old);
        }

        return replaced == 0 ? new(AdviceKind.Owned, owned) : new(AdviceKind.OwnedAndReplaced, owned + ". And " + old);
    }

    private static DeathAdvice Scope(DeathSite site, long dead)
    {
        if (site.Stack.Count == 0)
        {
            return None("where they were allocated was not recorded");
        }

        // Seen alive after so many frames had returned, also of those that live.
        int outlived = site.Records.Max(record => record.AliveAfter ?? 0);
        for (int frame = outlived; frame < site.Stack.Count; frame++)
        {
            long by = site.Records.Where(record => record.DeadBy <= frame).Sum(record => record.Samples);
            if (by >= Least && !IsFramework(site.Stack[frame]))
            {
                long seen = site.Records.Where(record => record.AliveAfter is not null).Sum(record => record.Samples);
                return new(AdviceKind.Scope, Invariant($"using (Heap.Scope()) around {(frame == 0 ? "the allocation" : "the call")} in {site.Stack[frame]}: {by} of {dead} were dead while that method ran; none of {seen} that were seen alive was so after it had returned"));
            }
        }

        return None(outlived >= site.Stack.Count ? "some outlive all methods of the recorded stack" : "no method of the program was seen to outlive them");
    }

    public static string NameOf(DeathProfile profile, int type, long offset)
    {
        string name = profile.Types[type];
        return IsStatic(profile, type) ? Invariant($"a static field (at byte {offset} of its group)") : name.EndsWith("[]", StringComparison.Ordinal) ? $"an element of {name}" : Invariant($"the field at byte {offset} of {name}");
    }

    // What HeapDump of System.Heap calls what is no type of the program's.
    private static bool IsStatic(DeathProfile profile, int type) => profile.Types[type] == "(static fields)";

    // A program cannot put a scope there.
    private static bool IsFramework(string place) => place.StartsWith("System.", StringComparison.Ordinal) || place.StartsWith("Microsoft.", StringComparison.Ordinal) || place.StartsWith("Internal.", StringComparison.Ordinal);

    private static DeathAdvice None(string why) => new(AdviceKind.None, why);

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
