using System.Globalization;
using System.Text.Json;
using Freehold.Tool.Deaths;
using Spectre.Console;

namespace Freehold.Tool.Views;

/// <summary>Where objects died, as a table with the advice and the stacks below it, and as JSON.</summary>
internal static class DeathsView
{
    private const int MostFrames = 6;

    public static void Write(DeathProfile profile, IReadOnlyList<DeathSite> sites, int top, TextWriter output)
    {
        DeathSite[] shown = [.. sites.Where(site => site.Dead != 0).Take(top)];
        output.WriteLine(Invariant($"{Quantity.Bytes(profile.Allocated)} allocated, {profile.Samples:N0} objects sampled, {profile.Looks:N0} looks, at most {Quantity.Bytes(profile.LongestInterval)} of allocations apart."));
        if (!profile.AtExit)
        {
            output.WriteLine("Written while the program ran: what it did later is not in it.");
        }

        if (profile.WithoutRoom != 0)
        {
            output.WriteLine(Invariant($"Of {profile.WithoutRoom:N0} sampled objects nothing is known: the tables were full."));
        }

        if (shown.Length == 0)
        {
            output.WriteLine("No sampled object has died that the program did not delete.");
            return;
        }

        output.WriteLine();
        var table = new Table { Border = TableBorder.Simple };
        table.AddColumn(new TableColumn("").RightAligned().NoWrap());
        table.AddColumn(new TableColumn("dead").RightAligned().NoWrap());
        table.AddColumn(new TableColumn("samples").RightAligned().NoWrap());
        table.AddColumn(new TableColumn("alive").RightAligned().NoWrap());
        table.AddColumn("type");
        table.AddColumn("ended");
        table.AddColumn(new TableColumn("check").NoWrap());
        for (int i = 0; i < shown.Length; i++)
        {
            DeathSite site = shown[i];
            table.AddRow([new Text(Invariant($"{i + 1}")), new Text(Quantity.Bytes(site.Bytes)), new Text(Invariant($"{site.Dead:N0}")), new Text(Invariant($"{site.Living:N0}")),
                new Text(PlainText.Of(site.Type)), new Text(Ends(site)), new Text(Word(site.Advice.Kind))]);
        }

        IAnsiConsole console = Program.On(output);
        console.Profile.Width = Math.Max(console.Profile.Width, 120);
        console.Write(table);
        for (int i = 0; i < shown.Length; i++)
        {
            WriteSite(i + 1, shown[i], output);
        }

        int rest = sites.Count(site => site.Dead != 0) - shown.Length;
        if (rest > 0)
        {
            output.WriteLine(Invariant($"And {rest:N0} other places (--top)."));
            output.WriteLine();
        }

        output.WriteLine("This is what was seen of samples, between looks: check it before you delete. FREEHOLD_DEBUG=1 throws at each use of a deleted object.");
    }

    public static void WriteJson(DeathProfile profile, IReadOnlyList<DeathSite> sites, int top, TextWriter output)
    {
        using var stream = new MemoryStream();
        using (var writer = new Utf8JsonWriter(stream))
        {
            writer.WriteStartObject();
            writer.WriteNumber("process", profile.Process);
            writer.WriteString("program", profile.Program);
            writer.WriteBoolean("atExit", profile.AtExit);
            writer.WriteNumber("allocatedBytes", profile.Allocated);
            writer.WriteNumber("looks", profile.Looks);
            writer.WriteNumber("samples", profile.Samples);
            writer.WriteNumber("withoutRoom", profile.WithoutRoom);
            writer.WriteNumber("lost", profile.Lost);
            writer.WriteNumber("untold", profile.Untold);
            writer.WriteNumber("longestIntervalBytes", profile.LongestInterval);
            writer.WriteNumber("lookNanoseconds", profile.Nanoseconds);
            writer.WriteStartArray("sites");
            foreach (DeathSite site in sites.Take(top))
            {
                writer.WriteStartObject();
                writer.WriteString("type", site.Type);
                writer.WriteNumber("bytes", site.Bytes);
                writer.WriteNumber("dead", site.Dead);
                writer.WriteNumber("deleted", site.Deleted);
                writer.WriteNumber("alive", site.Living);
                writer.WriteNumber("seenAlive", site.Seen);
                if (site.Age.Least is { } least)
                {
                    writer.WriteNumber("aliveUntilBytes", least);
                }

                writer.WriteNumber("deadAfterBytes", site.Age.Most);
                writer.WriteStartObject("ended");
                foreach (DeathKind kind in Enum.GetValues<DeathKind>())
                {
                    writer.WriteNumber(JsonNamingPolicy.CamelCase.ConvertName(kind.ToString()), site.Of(kind));
                }

                writer.WriteEndObject();
                writer.WriteStartArray("holders");
                foreach ((string name, long samples) in Holders(profile, site))
                {
                    writer.WriteStartObject();
                    writer.WriteString("holder", name);
                    writer.WriteNumber("samples", samples);
                    writer.WriteEndObject();
                }

                writer.WriteEndArray();
                writer.WriteString("advice", JsonNamingPolicy.CamelCase.ConvertName(site.Advice.Kind.ToString()));
                writer.WriteString("because", site.Advice.Text);
                writer.WriteStartArray("stack");
                foreach (string place in site.Stack)
                {
                    writer.WriteStringValue(place);
                }

                writer.WriteEndArray();
                writer.WriteEndObject();
            }

            writer.WriteEndArray();
            writer.WriteStartArray("fields");
            foreach (FieldRecord field in profile.Fields)
            {
                WriteField(profile, field, writer);
            }

            writer.WriteEndArray();
            writer.WriteEndObject();
        }

        output.WriteLine(System.Text.Encoding.UTF8.GetString(stream.GetBuffer(), 0, (int)stream.Length));
    }

    private static void WriteField(DeathProfile profile, FieldRecord field, Utf8JsonWriter writer)
    {
        writer.WriteStartObject();
        writer.WriteString("field", DeathAdvice.NameOf(profile, field.Type, field.Offset));
        foreach ((string name, long number) in new[] { ("reference", field.Number), ("references", field.References), ("objects", field.Objects), ("held", field.Held), ("shared", field.Shared), ("died", field.Died),
            ("survived", field.Survived), ("replaced", field.Replaced), ("moved", field.Moved), ("emptied", field.Emptied), ("followed", field.Followed), ("unfollowed", field.Unfollowed) })
        {
            writer.WriteNumber(name, number);
        }

        writer.WriteEndObject();
    }

    /// <summary>What held those last that were seen alive, the most frequent first.</summary>
    private static IEnumerable<(string Name, long Samples)> Holders(DeathProfile profile, DeathSite site) =>
        site.Records.Where(record => record.Kind is DeathKind.Stack or DeathKind.HolderDied or DeathKind.Replaced or DeathKind.Emptied)
            .GroupBy(record => record.Kind != DeathKind.Stack ? DeathAdvice.NameOf(profile, record.Holder, record.Offset) : record.Method < 0 ? "a stack" : $"the stack of {profile.Places[record.Method]}")
            .Select(group => (group.Key, DeathSite.Sum(group, record => record.Samples))).OrderByDescending(holder => holder.Item2).ThenBy(holder => holder.Key, StringComparer.Ordinal);

    private static void WriteSite(int number, DeathSite site, TextWriter output)
    {
        output.WriteLine(Invariant($"{number}. {PlainText.Of(site.Type)}: {PlainText.Of(site.Advice.Text)}."));
        (long? least, long most) = site.Age;
        string alive = least is not { } until ? "Never seen alive" : Invariant($"The {site.Seen} that were seen alive were so until {Quantity.Bytes(until)} on average");
        output.WriteLine(Invariant($"   {alive}; found dead after {Quantity.Bytes(most)} of allocations on average. Allocated"));
        foreach (string place in site.Stack.Take(MostFrames))
        {
            output.WriteLine("      at " + PlainText.Of(place));
        }

        if (site.Stack.Count > MostFrames)
        {
            output.WriteLine(Invariant($"      and in {site.Stack.Count - MostFrames} more (--json)"));
        }

        output.WriteLine();
    }

    private static string Ends(DeathSite site)
    {
        (DeathKind Kind, string Name)[] kinds = [(DeathKind.Stack, "on a stack"), (DeathKind.HolderDied, "with a holder"), (DeathKind.Replaced, "replaced"), (DeathKind.Emptied, "taken out"), (DeathKind.Shared, "shared"),
            (DeathKind.Handle, "a handle's"), (DeathKind.Other, "otherwise"), (DeathKind.Unseen, "between looks")];
        return string.Join(", ", kinds.Where(kind => site.Of(kind.Kind) != 0).OrderByDescending(kind => site.Of(kind.Kind)).Select(kind => Invariant($"{site.Of(kind.Kind):N0} {kind.Name}")));
    }

    private static string Word(AdviceKind kind) => kind switch
    {
        AdviceKind.Scope => "Heap.Scope",
        AdviceKind.Owned => "[Owned]",
        _ => "",
    };

    private static string Invariant(FormattableString text) => text.ToString(CultureInfo.InvariantCulture);
}
