using System.Globalization;

namespace Freehold.Tool.Deaths;

/// <summary>
/// What to check for a site: where a deletion might belong, and what was seen that speaks for it. One observation against it, of this site or of another one that the same field held, and there is none:
/// a deletion too many is worse than one too few. What cannot be told safely is said as it was seen, without advice. A scope needs less, as it deletes nothing that something outside leads to.
/// What a field had before it got another value is never advised on: whoever has taken it out uses it, and where that allocates nothing no look finds it there.
/// </summary>
internal sealed record DeathAdvice(AdviceKind Kind, string Text)
{
    /// <summary>Objects that must have been seen for a scope.</summary>
    public const int Least = 5;

    /// <summary>Objects that must have been seen to end so for a deletion: a use that is short, or between two looks, is seldom seen.</summary>
    public const int LeastForDeletion = 50;

    private const string Check = "A use between two looks is not seen, one without allocations never is: check with FREEHOLD_DEBUG=1";

    public static DeathAdvice Of(DeathProfile profile, DeathSite site)
    {
        long dead = site.Dead;
        if (dead == 0)
        {
            return None(site.Deleted != 0 ? "they are deleted already, by the program or as arrays that a collection outgrew" : "none has died");
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
        DeathRecord[] held = [.. site.Records.Where(record => record.Kind is DeathKind.HolderDied or DeathKind.Replaced or DeathKind.Emptied)];
        long seen = DeathSite.Sum(held, record => record.Samples);
        return shared != 0 ? None(Invariant($"shared, no advice: several places held {shared} of {dead} at once"))
            : elsewhere != 0 ? None(Invariant($"no advice: handles, or several things one after the other, held {elsewhere} of {dead}"))
            : held.Length == 0 ? None("")
            : held.Select(record => (record.Holder, record.Offset)).Distinct().Count() != 1 ? None("no advice, they disagree: different fields held them last")
            // One that only a stack held was not there yet, or never: it says nothing of the field.
            : stacks > seen ? None(Invariant($"no advice, they disagree: a field held {seen} of {dead} last, stacks {stacks}"))
            : Field(profile, site, held[0], seen, dead);
    }

    private static DeathAdvice Field(DeathProfile profile, DeathSite site, DeathRecord held, long seen, long dead)
    {
        FieldRecord? field = profile.FieldOf(held.Holder, held.Offset);
        string name = NameOf(profile, held.Holder, held.Offset);
        long died = site.Of(DeathKind.HolderDied), replaced = site.Of(DeathKind.Replaced), emptied = site.Of(DeathKind.Emptied);
        string facts = Invariant($"{name} held {seen} of {dead} last: {died} were dead with the object that has it, {replaced} when it had another value, {emptied} when it was null");
        if (field is null)
        {
            return None("no advice: " + facts);
        }

        if (field.Shared != 0)
        {
            return None(Invariant($"shared, no advice: {name} held objects that other places held too, as was seen {field.Shared} times"));
        }

        // Of what lives, some may have left the field for another owner: nobody saw who.
        if (field.Survived != 0 || field.Moved != 0)
        {
            return None(Invariant($"no advice: objects outlive {name}, which held them alone: {field.Survived} outlived its object, {field.Moved} another value of it"));
        }

        if (profile.Lost != 0)
        {
            return None("no advice, as there was no room and what speaks against it may be lost: " + facts);
        }

        if (field.Number == 0 || profile.Types[held.Holder].EndsWith(",]", StringComparison.Ordinal))
        {
            return None("no advice for structures in an array, nor for one of several dimensions: " + facts);
        }

        // The program has no declaration of it to change, or nobody knows which.
        if (IsStatic(profile, held.Holder) || IsFrameworkType(profile.Types[held.Holder]))
        {
            return None($"no advice for a field that is {(IsStatic(profile, held.Holder) ? "static, as classes with equal static fields are told as one" : "not the program's own")}: {facts}");
        }

        if (seen < dead / 10)
        {
            return None(Invariant($"no advice, as {dead - seen} of {dead} were never seen so: {facts}"));
        }

        // One that is taken out of the field is used by whoever has taken it: that may happen when its object is about to go too.
        if (field.Emptied != 0)
        {
            return None(Invariant($"no advice, as the field was null when {field.Emptied} of its objects were dead, and nobody saw who had them: {facts}"));
        }

        if (replaced >= LeastForDeletion && died < LeastForDeletion)
        {
            return None("no advice, as nobody saw who had them when the field had another value: " + facts);
        }

        if (died < LeastForDeletion || field.Objects < LeastForDeletion)
        {
            return None(Invariant($"too few, as {died} died with the object that has the field, and it was seen with {field.Objects} distinct objects ({LeastForDeletion} of each are needed): {facts}"));
        }

        // A value that is allocated once, and given to many, is no sample: those that were followed show it.
        if (field.Followed < LeastForDeletion && field.Unfollowed != 0)
        {
            return None(Invariant($"no advice, as others were in the field, of which too few were followed to their end ({field.Followed}; {LeastForDeletion} are needed): {facts}"));
        }

        return new(AdviceKind.Owned, Invariant($"{Where(profile.Types[held.Holder], name, site.Type, field)}, if nobody uses one when that is gone: {died} of {dead} died with the object that has it, none was seen to outlive it. The field was seen with {field.Objects} distinct objects, and with {field.Followed} others that were followed to their end. {Check}"));
    }

    // No program has names of fields: which declaration it is, the reader has to find out.
    private static string Where(string holder, string name, string type, FieldRecord field) =>
        holder.EndsWith("[]", StringComparison.Ordinal) ? $"Heap.DeleteAll on the collection of {name}"
            : field.References == 1 ? $"[Owned] on {name}, the only reference that it declares"
            : Invariant($"[Owned] on {name}, which is reference {field.Number} of the {field.References} that it declares (if several of these can have a {type}, find out which one this is)");

    // Only stacks held them, or nobody knows what did. Which frame of the allocation's stack they die in is not said: a method that was called again from the same place has an equal frame. That one is
    // not there any more is certain, and where an object was alive then, its method has given it out.
    private static DeathAdvice Scope(DeathProfile profile, DeathSite site, long dead)
    {
        int outlived = site.Records.Max(record => record.AliveAfter ?? 0);
        if (site.Stack.All(IsFramework))
        {
            return None(site.Stack.Count == 0 ? "no advice: where they were allocated was not recorded" : "no advice: no method of the program is in the recorded stack");
        }

        if (site.Stack.Skip(outlived).All(IsFramework))
        {
            return None(Invariant($"no advice: some were seen to outlive all methods below that are the program's"));
        }

        string where = outlived == 0 ? "a method below that does not give them out" : $"a method below that does not give them out, {PlaceOf(site, outlived)} or farther out: some were seen to outlive those within";
        DeathRecord[] seen = [.. site.Records.Where(record => record.Kind == DeathKind.Stack && record.Method >= 0 && !IsFramework(profile.Places[record.Method]))];
        long count = site.Of(DeathKind.Stack);
        if (count == 0)
        {
            return Scoped(Invariant($"Heap.Scope in {where}: no look found one of {dead} alive"));
        }

        if (seen.Length != 0)
        {
            IGrouping<string, DeathRecord> most = seen.GroupBy(record => MethodOf(profile.Places[record.Method])).OrderByDescending(records => DeathSite.Sum(records, record => record.Samples)).ThenBy(records => records.Key, StringComparer.Ordinal).First();
            long held = DeathSite.Sum(most, record => record.Samples), gone = DeathSite.Sum(most.Where(record => record.FrameGone), record => record.Samples);
            // One that never returns while they die, as the loop of a program, has no end where they could go; one that gives them out keeps nothing from living.
            // A scope deletes what is allocated within it: in a method that was given them it is of no use.
            if (gone >= Least && site.Stack.Skip(outlived).Any(place => MethodOf(place) == most.Key))
            {
                return Scoped(Invariant($"Heap.Scope in {most.Key}: only stacks held the {count} of {dead} that a look found alive, its own held {held}, and {gone} of these were found dead when it had returned"));
            }
        }

        return Scoped(Invariant($"Heap.Scope in {where}: only stacks held the {count} of {dead} that a look found alive"));
    }

    private static DeathAdvice Scoped(string text) => new(AdviceKind.Scope, text + ". Check with FREEHOLD_DEBUG=1");

    // The innermost that is the program's, of those that no object was seen to outlive.
    private static string PlaceOf(DeathSite site, int outlived) => MethodOf(site.Stack.Skip(outlived).First(place => !IsFramework(place)));

    public static string NameOf(DeathProfile profile, int type, long offset)
    {
        string name = profile.Types[type];
        return IsStatic(profile, type) ? Invariant($"a static field (at byte {offset} of its group)") : name.EndsWith("[]", StringComparison.Ordinal) ? $"an element of {name}" : Invariant($"the field at byte {offset} of {name}");
    }

    // What HeapDump of System.Heap calls what is no type of the program's.
    private static bool IsStatic(DeathProfile profile, int type) => profile.Types[type] == "(static fields)";

    // Without the line or the offset.
    private static string MethodOf(string place) => place.IndexOf(") ", StringComparison.Ordinal) is var end and >= 0 ? place[..(end + 1)] : place;

    // A program cannot put a scope there: in the framework, in what has no name, and in a method that awaits or yields.
    private static bool IsFramework(string place) => place.StartsWith('(') || place.Contains(".MoveNext()", StringComparison.Ordinal) || place.StartsWith("System.", StringComparison.Ordinal) || place.StartsWith("Microsoft.", StringComparison.Ordinal) || place.StartsWith("Internal.", StringComparison.Ordinal);

    // A program declares no field there: types of the framework, and what the compiler makes, such as closures.
    private static bool IsFrameworkType(string type) => type.Length == 0 || IsFramework(type) || type.Contains('<', StringComparison.Ordinal);

    private static DeathAdvice None(string why) => new(AdviceKind.None, why);

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
