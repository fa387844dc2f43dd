using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using Freehold.Tool;
using Freehold.Tool.Deaths;

namespace Freehold.Diagnostics.Tests;

/// <summary>Who reads files of FREEHOLD_DEATHS: what is in them, what cannot be, and what is advised of what was seen.</summary>
public sealed class DeathFileTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("freehold-");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public void SitesComeByTheirBytes()
    {
        DeathProfile profile = Known().Read();
        IReadOnlyList<DeathSite> sites = DeathSite.All(profile);
        Assert.Equal(["Child", "Temporary"], sites.Select(site => site.Type));
        Assert.Equal((30L, 2L, 3L, 30 * 131_072L), (sites[0].Dead, sites[0].Deleted, sites[0].Living, sites[0].Bytes));
        Assert.Equal((10_000, 20_000), sites[0].Age);
        Assert.Equal(["Owner..ctor() in a.cs:line 3", "Program.Main() in a.cs:line 9"], sites[0].Stack);
        Assert.Equal(4242, profile.Process);
        Assert.Equal(700, profile.Looks);
    }

    // What was seen, and what is said of it.

    [Fact]
    public void AChildOfAnOwnerIsOwned()
    {
        DeathAdvice advice = Known().Advice();
        Assert.Equal(AdviceKind.Owned, advice.Kind);
        Assert.Equal("[Owned] on the field at byte 16 of Owner: 20 died with the object that has it, none outlived it", advice.Text);
    }

    [Fact]
    public void ATemporaryIsOfAScope()
    {
        DeathAdvice advice = DeathSite.All(Known().Read())[1].Advice;
        Assert.Equal(AdviceKind.Scope, advice.Kind);
        Assert.Equal("Heap.Scope in Program.Work(): only stacks held the 7 of 15 that a look found alive, its own held 6, and 4 of these were found dead when it had returned", advice.Text);
    }

    [Fact]
    public void WhatAFieldNoLongerHasIsDeletedThere()
    {
        DeathMaker made = Site("Old", "Cache").Death(DeathKind.Replaced, 8, holder: 1, offset: 8).Field(1, 8, held: 8, replaced: 8);
        Assert.Equal(AdviceKind.Replaced, made.Advice().Kind);
        Assert.Equal("Heap.Delete the old value where the field at byte 8 of Cache gets another one: 8 were dead then, none was seen alive", made.Advice().Text);
        made = Site("Old", "Cache").Death(DeathKind.Replaced, 8, holder: 1, offset: 8).Death(DeathKind.HolderDied, 1, holder: 1, offset: 8).Field(1, 8, held: 9, replaced: 8, died: 1);
        Assert.Equal(AdviceKind.OwnedAndReplaced, made.Advice().Kind);
    }

    [Fact]
    public void AStaticIsNeverAnOwner()
    {
        DeathMaker made = Site("Old", "(static fields)").Death(DeathKind.Replaced, 8, holder: 1, offset: 8).Death(DeathKind.HolderDied, 1, holder: 1, offset: 8).Field(1, 8, held: 9, replaced: 8, died: 1);
        Assert.Equal(AdviceKind.Replaced, made.Advice().Kind);
        Assert.Contains("a static field", made.Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void AnElementOfAnArrayIsDeletedWithItsCollection() =>
        Assert.Contains("Heap.DeleteAll on the collection", Site("Item", "Item[]").Death(DeathKind.HolderDied, 8, holder: 1, offset: 16).Field(1, 16, held: 8, died: 8).Advice().Text, StringComparison.Ordinal);

    [Fact]
    public void AFieldOfTheFrameworkCannotBeMarked()
    {
        DeathMaker Made() => Site("Entry[]", "System.Collections.Generic.Dictionary`2").Death(DeathKind.HolderDied, 8, holder: 1, offset: 16);
        Assert.Equal(new DeathAdvice(AdviceKind.Owner, "Heap.Delete of the owner, by the field at byte 16 of System.Collections.Generic.Dictionary`2: 8 died with it, none outlived it"), Made().Field(1, 16, held: 8, died: 8).Advice());
        Assert.Equal(AdviceKind.Owner, Made().Death(DeathKind.Replaced, 1, holder: 1, offset: 16).Field(1, 16, held: 8, died: 8, replaced: 1).Advice().Kind);
        Assert.Equal(AdviceKind.None, Made().Field(1, 16, held: 8, died: 8, shared: 1).Advice().Kind);
    }

    // What speaks against: each one alone is enough, whatever its number.

    [Theory]
    [InlineData(1, 0, 0)]
    [InlineData(0, 1, 0)]
    [InlineData(0, 0, 1)]
    public void OneObservationAgainstAFieldIsEnough(long shared, long survived, long moved)
    {
        DeathMaker made = Site("Child", "Owner").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Field(1, 16, held: 1_000, shared: shared, died: 1_000, survived: survived, moved: moved);
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
        Assert.Contains("no advice", made.Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void OneSharedObjectIsEnough()
    {
        DeathMaker made = Site("Child", "Owner").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Death(DeathKind.Shared, 1).Field(1, 16, held: 1_000, died: 1_000);
        Assert.Equal(new DeathAdvice(AdviceKind.None, "shared, no advice: several places held 1 of 1001 at once"), made.Advice());
    }

    [Theory]
    [InlineData((int)DeathKind.Handle, 1, 16)]
    [InlineData((int)DeathKind.Other, 1, 16)]
    [InlineData((int)DeathKind.HolderDied, 1, 24)]
    [InlineData((int)DeathKind.Replaced, 2, 16)]
    public void WhatDisagreesIsNotAdvised(int kind, int holder, long offset)
    {
        DeathMaker made = Site("Child", "Owner").Types("Other").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Death((DeathKind)kind, 1, holder: holder, offset: offset)
            .Field(1, 16, held: 1_000, died: 1_000).Field(1, 24, held: 1, died: 1).Field(2, 16, held: 1, replaced: 1);
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
        Assert.Contains("no advice", made.Advice().Text, StringComparison.Ordinal);
    }

    /// <summary>It was not in the field yet, or never: no reason against it, unless most were so.</summary>
    [Fact]
    public void WhatOnlyAStackHeldSaysNothingOfAField()
    {
        DeathMaker Made(long onStacks) => Site("Child", "Owner").Death(DeathKind.HolderDied, 10, holder: 1, offset: 16, aliveAfter: 2).Death(DeathKind.Stack, onStacks, aliveAfter: 0).Field(1, 16, held: 10, died: 10);
        Assert.Equal(AdviceKind.Owned, Made(10).Advice().Kind);
        Assert.Equal(AdviceKind.None, Made(11).Advice().Kind);
    }

    [Fact]
    public void WhatNoLookFoundAliveIsOfSomeScope()
    {
        Assert.Equal("Heap.Scope in a method below that does not give them out: no look found one of 100 alive", Site("T").Death(DeathKind.Unseen, 100).Advice().Text);
        Assert.Equal("Heap.Scope in a method below that does not give them out: only stacks held the 4 of 104 that a look found alive", Site("T").Death(DeathKind.Unseen, 100).Death(DeathKind.Stack, 4, method: 0).Advice().Text);
        // Whose stack it was is not known, or it is the framework's.
        Assert.Contains("in a method below", Site("T").Death(DeathKind.Stack, 9).Advice().Text, StringComparison.Ordinal);
        Assert.Contains("in a method below", Site("T").Stack("System.Text.Json.JsonSerializer.Serialize()").Death(DeathKind.Stack, 9, method: 2).Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void WhereManyLiveOnThereIsNoScope()
    {
        Assert.Equal(AdviceKind.Scope, Site("T").Death(DeathKind.Unseen, 100).Death(DeathKind.Lives, 10).Advice().Kind);
        Assert.Equal("no advice: 11 live on beside 100 that died", Site("T").Death(DeathKind.Unseen, 100).Death(DeathKind.Lives, 11).Advice().Text);
    }

    [Fact]
    public void TooFewAreNotAdvised()
    {
        Assert.Equal("too few: 4 died", Site("T").Death(DeathKind.Unseen, 4, deadBy: 0).Advice().Text);
        Assert.Equal(AdviceKind.None, Site("Child", "Owner").Death(DeathKind.HolderDied, 4, holder: 1, offset: 16).Death(DeathKind.Unseen, 100).Field(1, 16, held: 4, died: 4).Advice().Kind);
        Assert.Equal("the program deletes them", Site("T").Death(DeathKind.Deleted, 4).Advice().Text);
        Assert.Equal("none has died", Site("T").Death(DeathKind.Lives, 4).Advice().Text);
    }

    [Fact]
    public void TheFrameworkGetsNoScope()
    {
        DeathMaker made = new DeathMaker().Types("T").Stack("System.String.Concat()", "App.Say()").Death(DeathKind.Unseen, 100, deadBy: 0);
        Assert.Equal(AdviceKind.Scope, made.Advice().Kind);
        Assert.Equal(AdviceKind.None, new DeathMaker().Types("T").Stack("System.String.Concat()").Death(DeathKind.Unseen, 100, deadBy: 0).Advice().Kind);
        Assert.Equal(AdviceKind.None, new DeathMaker().Types("T").Stack().Death(DeathKind.Unseen, 100).Advice().Kind);
    }

    [Fact]
    public async Task TheTableHasAdviceAndStack()
    {
        string file = Write(Known().ToBytes());
        (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", file);
        Assert.True(code == 0, error);
        Assert.Contains("953.7 MB allocated, 9,000 objects sampled, 700 looks", output, StringComparison.Ordinal);
        Assert.Contains("20 with a holder, 10 between looks", output, StringComparison.Ordinal);
        Assert.Contains("1. Child: [Owned] on the field at byte 16 of Owner", output, StringComparison.Ordinal);
        Assert.Contains("at Owner..ctor() in a.cs:line 3", output, StringComparison.Ordinal);
        Assert.Contains("check it before you delete. FREEHOLD_DEBUG=1", output, StringComparison.Ordinal);
        Assert.DoesNotContain("Written while", output, StringComparison.Ordinal);
        (_, output, _) = await RunningProgram.ToolAsync("deaths", file, "--top", "1");
        Assert.Contains("And 1 other places", output, StringComparison.Ordinal);
        Assert.DoesNotContain("Temporary", output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task JsonHasTheSame()
    {
        DeathMaker made = Known();
        made.Content["atExit"] = false;
        made.Content["withoutRoom"] = 7;
        string file = Write(made.ToBytes());
        (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", file, "--json");
        Assert.True(code == 0, error);
        JsonElement root = JsonDocument.Parse(output).RootElement, child = root.GetProperty("sites")[0];
        Assert.False(root.GetProperty("atExit").GetBoolean());
        Assert.Equal("owned", child.GetProperty("advice").GetString());
        Assert.Equal(20, child.GetProperty("ended").GetProperty("holderDied").GetInt64());
        Assert.Equal("the field at byte 16 of Owner", child.GetProperty("holders")[0].GetProperty("holder").GetString());
        Assert.Equal(2, child.GetProperty("stack").GetArrayLength());
        (_, output, _) = await RunningProgram.ToolAsync("deaths", file);
        Assert.Contains("Written while the program ran", output, StringComparison.Ordinal);
        Assert.Contains("Of 7 sampled objects nothing is known", output, StringComparison.Ordinal);
        (_, output, _) = await RunningProgram.ToolAsync("deaths", Write(new DeathMaker().ToBytes()));
        Assert.Contains("No sampled object has died", output, StringComparison.Ordinal);
    }

    // Files that are none, or damaged.

    [Fact]
    public async Task WhatIsNoProfileIsSaid()
    {
        foreach ((byte[] bytes, string said) in new[] { ("FHDUMP\r\n and so on, long enough"u8.ToArray(), "is no profile of deaths"), ([], "is no profile of deaths") })
        {
            (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", Write(bytes));
            Assert.Equal((3, ""), (code, output));
            Assert.Contains(said, error, StringComparison.Ordinal);
        }

        Assert.Equal(3, (await RunningProgram.ToolAsync("deaths", Path.Combine(_folder.FullName, "none"))).Code);
        Assert.Equal(2, (await RunningProgram.ToolAsync("deaths")).Code);
    }

    [Fact]
    public void WhatIsCutOffIsRefusedWhereverThatIs()
    {
        byte[] whole = Known().ToBytes();
        for (int length = 0; length < whole.Length; length++)
            Assert.Throws<ToolException>(() => DeathFile.Read(new MemoryStream(whole, 0, length), "deaths"));
        Assert.Throws<ToolException>(() => DeathFile.Read(new MemoryStream([.. whole, 0]), "deaths"));
    }

    [Fact]
    public void EachWrongBitIsSeen()
    {
        byte[] whole = Known().ToBytes();
        for (int bit = 0; bit < whole.Length * 8; bit++)
        {
            byte[] wrong = [.. whole];
            wrong[bit / 8] ^= (byte)(1 << (bit % 8));
            Assert.Throws<ToolException>(() => DeathFile.Read(new MemoryStream(wrong), "deaths"));
        }
    }

    [Fact]
    public void AnotherVersionIsSaid()
    {
        byte[] whole = Known().ToBytes();
        whole[8] = 2;
        Assert.Contains("version 2", Assert.Throws<ToolException>(() => DeathFile.Read(new MemoryStream(whole), "deaths")).Message, StringComparison.Ordinal);
    }

    public static TheoryData<string, string> WrongValues => new()
    {
        { "type", "3" }, { "type", "-1" }, { "type", "1.5" }, { "stack", "9" }, { "kind", "9" }, { "holder", "-2" }, { "holder", "99" }, { "offset", "-8" }, { "method", "77" }, { "frameGone", "1" },
        { "aliveAfter", "3" }, { "deadBy", "256" }, { "samples", "-1" }, { "bytes", "9223372036854775807" }, { "ageSeen", "\"x\"" }, { "ageDead", "null" },
    };

    [Theory]
    [MemberData(nameof(WrongValues))]
    public void WrongContentUnderARightChecksumIsRefused(string name, string value)
    {
        DeathMaker made = Known();
        made.Content["deaths"]![0]![name] = JsonNode.Parse(value);
        Assert.Contains("is damaged", Assert.Throws<ToolException>(made.Read).Message, StringComparison.Ordinal);
        made = Known();
        ((JsonObject)made.Content["deaths"]![0]!).Remove(name);
        Assert.Throws<ToolException>(made.Read);
    }

    [Fact]
    public void WhatIsMissingOrNoJsonIsRefused()
    {
        foreach (string name in Known().Content.Select(member => member.Key).Where(name => name != "version").ToList())
        {
            DeathMaker made = Known();
            made.Content.Remove(name);
            Assert.Throws<ToolException>(made.Read);
        }

        foreach (string text in new[] { "", "{", "[]", "null", "{\"a\":1}", "{} {}" })
            Assert.Throws<ToolException>(() => DeathFile.Read(new MemoryStream(DeathMaker.ToFile(Encoding.UTF8.GetBytes(text))), "deaths"));
        DeathMaker stacks = Known();
        stacks.Content["stacks"]![0]![0] = 100;
        Assert.Throws<ToolException>(stacks.Read);
        DeathMaker holder = Known();
        holder.Content["deaths"]![0]!["holder"] = -1;
        Assert.Throws<ToolException>(holder.Read);
    }

    private static DeathMaker Site(params string[] types) => new DeathMaker().Types(types).Stack("A.Make()", "A.Main()");

    private static DeathMaker Known() => new DeathMaker().Types("Child", "Owner", "Temporary")
        .Stack("Owner..ctor() in a.cs:line 3", "Program.Main() in a.cs:line 9").Stack("System.String.Concat()", "Program.Work() in a.cs:line 20", "Program.Main() in a.cs:line 10")
        .Death(DeathKind.HolderDied, 20, holder: 1, offset: 16, aliveAfter: 2).Death(DeathKind.Unseen, 10).Death(DeathKind.Deleted, 2).Death(DeathKind.Lives, 3)
        .Death(DeathKind.Stack, 4, type: 2, stack: 1, method: 3, frameGone: true).Death(DeathKind.Stack, 2, type: 2, stack: 1, method: 3).Death(DeathKind.Stack, 1, type: 2, stack: 1).Death(DeathKind.Unseen, 5, type: 2, stack: 1, deadBy: 0).Death(DeathKind.Unseen, 3, type: 2, stack: 1, deadBy: 2)
        .Field(1, 16, held: 40, died: 20);

    private string Write(byte[] bytes)
    {
        string file = Path.Combine(_folder.FullName, "deaths");
        File.WriteAllBytes(file, bytes);
        return file;
    }
}
