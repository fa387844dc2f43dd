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
        Assert.Equal((70L, 2L, 3L, 70 * 131_072L), (sites[0].Dead, sites[0].Deleted, sites[0].Living, sites[0].Bytes));
        // Of 10 nobody knows until when they lived.
        Assert.Equal((60, (10_000L, 20_000L)), (sites[0].Seen, (sites[0].Age.Least!.Value, sites[0].Age.Most)));
        Assert.Null(DeathSite.All(Site("T").Death(DeathKind.Unseen, 9).Read())[0].Age.Least);
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
        Assert.Equal("[Owned] on the field at byte 16 of Owner, which is reference 2 of the 3 that it declares (if several of these can have a Child, find out which one this is), if nobody uses one when that is gone: 60 of 70 died with the object that has it, none was seen to outlive it. The field was seen with 70 distinct objects, and with 55 others that were followed to their end. " + Check, advice.Text);
    }

    [Fact]
    public void ATemporaryIsOfAScope()
    {
        DeathAdvice advice = DeathSite.All(Known().Read())[1].Advice;
        Assert.Equal(AdviceKind.Scope, advice.Kind);
        Assert.Equal("Heap.Scope in Program.Work(): only stacks held the 9 of 17 that a look found alive, its own held 8, and 6 of these were found dead when it had returned. Check with FREEHOLD_DEBUG=1", advice.Text);
    }

    /// <summary>Whoever has taken it may use it still, and no look sees that where nothing is allocated: job = _next; _next = Make(); Run(job).</summary>
    [Fact]
    public void WhatAFieldNoLongerHasIsNotDeletedThere()
    {
        DeathMaker made = Site("Old", "Cache").Death(DeathKind.Replaced, 80_000, holder: 1, offset: 8).Field(1, 8, held: 90_000, replaced: 80_000);
        Assert.Equal(new DeathAdvice(AdviceKind.None, "no advice, as nobody saw who had them when the field had another value: the field at byte 8 of Cache held 80000 of 80000 last: 0 were dead with the object that has it, 80000 when it had another value, 0 when it was null"), made.Advice());
    }

    /// <summary>What was seen of old values says nothing of what the field's object has at its end.</summary>
    [Theory]
    [InlineData(50, 1, (int)AdviceKind.Owned)]
    [InlineData(1, 50, (int)AdviceKind.None)]
    [InlineData(50, 50, (int)AdviceKind.Owned)]
    [InlineData(49, 49, (int)AdviceKind.None)]
    [InlineData(50, 0, (int)AdviceKind.Owned)]
    public void OwnersAreSeenByThemselves(long died, long replaced, int expected)
    {
        DeathMaker made = Site("Old", "Cache").Death(DeathKind.Replaced, replaced, holder: 1, offset: 8).Death(DeathKind.HolderDied, died, holder: 1, offset: 8).Field(1, 8, held: 200, replaced: replaced, died: died);
        Assert.Equal((AdviceKind)expected, made.Advice().Kind);
    }

    [Theory]
    [InlineData(50, 0)]
    [InlineData(0, 1_000)]
    [InlineData(1_000, 1_000)]
    public void AStaticFieldGetsNoAdvice(long died, long replaced)
    {
        DeathMaker made = Site("Old", "(static fields)").Death(DeathKind.Replaced, replaced, holder: 1, offset: 8).Death(DeathKind.HolderDied, died, holder: 1, offset: 8).Field(1, 8, held: 3_000, replaced: replaced, died: died);
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
        Assert.Contains("no advice for a field that is static", made.Advice().Text, StringComparison.Ordinal);
        Assert.Contains($"{replaced} when it had another value", made.Advice().Text, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("System.Action")]
    [InlineData("System.Collections.Generic.List`1[Item]")]
    [InlineData("System.Collections.Generic.Dictionary`2+Entry[System.String,Item][]")]
    [InlineData("System.Byte[][]")]
    [InlineData("App.Program+<>c__DisplayClass3_0")]
    [InlineData("App.Program+<Main>d__1")]
    [InlineData("Microsoft.Extensions.Primitives.Thing")]
    public void WhatIsNotTheProgramsGetsNoAdvice(string holder)
    {
        DeathMaker made = Site("Item", holder).Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 8).Field(1, 8, held: 1_000, died: 1_000);
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
        Assert.Contains("not the program's own", made.Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void AnElementOfAnArrayIsDeletedWithItsCollection() =>
        Assert.Contains("Heap.DeleteAll on the collection", Site("Item", "Item[]").Death(DeathKind.HolderDied, 80, holder: 1, offset: 16).Field(1, 16, held: 80, died: 80).Advice().Text, StringComparison.Ordinal);

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

    /// <summary>An object of the field that is taken out of it is used by whoever has taken it: job = _next; _next = null; Run(job).</summary>
    [Fact]
    public void WhatIsTakenOutOfAFieldIsNotDeletedThere()
    {
        DeathMaker made = Site("Job", "Queue").Death(DeathKind.Emptied, 1_000, holder: 1, offset: 8).Field(1, 8, held: 1_000, emptied: 1_000);
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
        Assert.Contains("nobody saw who had them", made.Advice().Text, StringComparison.Ordinal);
        made = Site("Job", "Queue").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 8).Field(1, 8, held: 1_001, died: 1_000, emptied: 1);
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
    }

    /// <summary>One declaration: what was seen of Box of Bar speaks against Box of Foo.</summary>
    [Fact]
    public void AGenericClassHasOneDeclaration()
    {
        DeathMaker Made(long shared) => Site("Child", "Box`1[Foo]", "Box`1[Bar]").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Field(1, 16, held: 1_000, died: 1_000).Field(2, 16, held: 3, shared: shared);
        Assert.Equal(AdviceKind.Owned, Made(0).Advice().Kind);
        Assert.Equal(AdviceKind.None, Made(1).Advice().Kind);
    }

    /// <summary>The same few objects, again and again, are not enough.</summary>
    [Fact]
    public void FewDistinctObjectsAreTooFew()
    {
        DeathMaker Made(long objects) => Site("Child", "Owner").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Field(1, 16, held: 1_000, died: 1_000, objects: objects);
        Assert.Equal(AdviceKind.Owned, Made(50).Advice().Kind);
        Assert.Equal(AdviceKind.None, Made(49).Advice().Kind);
        Assert.Contains("seen with 49 distinct objects", Made(49).Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void WhatWasLostMayHaveSpokenAgainst()
    {
        DeathMaker made = Known();
        made.Content["lost"] = 1;
        Assert.Equal(AdviceKind.None, made.Advice().Kind);
        Assert.Contains("there was no room", made.Advice().Text, StringComparison.Ordinal);
        // What never was a sample, or has no row of its own, cannot have.
        made = Known();
        made.Content["withoutRoom"] = 1;
        Assert.Equal(AdviceKind.Owned, made.Advice().Kind);
    }

    /// <summary>A value that is allocated once, and given to many, is never sampled: others than samples have to be followed too, where there are any.</summary>
    [Theory]
    [InlineData(0, 0, (int)AdviceKind.Owned)]
    [InlineData(9, 0, (int)AdviceKind.Owned)]
    [InlineData(49, 1, (int)AdviceKind.None)]
    [InlineData(50, 1_000_000, (int)AdviceKind.Owned)]
    public void OthersThanSamplesHaveToBeFollowed(long followed, long unfollowed, int expected)
    {
        DeathAdvice advice = Site("Child", "Owner").Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Field(1, 16, held: 1_000, died: 1_000, followed: followed, unfollowed: unfollowed).Advice();
        Assert.Equal((AdviceKind)expected, advice.Kind);
        Assert.Contains(advice.Kind == AdviceKind.Owned ? $"and with {followed} others that were followed to their end" : "too few were followed to their end (49; 50 are needed)", advice.Text, StringComparison.Ordinal);
    }

    /// <summary>A program has no names of fields: the reader finds out which one it is.</summary>
    [Fact]
    public void WhichReferenceOfAClassIsSaid()
    {
        static DeathAdvice Advice(string holder, long number, long of) => Site("Customer", holder).Death(DeathKind.HolderDied, 1_000, holder: 1, offset: 16).Field(1, 16, held: 1_000, died: 1_000, number: number, of: of).Advice();
        Assert.StartsWith("[Owned] on the field at byte 16 of Order, the only reference that it declares, if nobody", Advice("Order", 1, 1).Text, StringComparison.Ordinal);
        Assert.StartsWith("[Owned] on the field at byte 16 of Order, which is reference 1 of the 2 that it declares (if several of these can have a Customer, find out which one this is), if nobody", Advice("Order", 1, 2).Text, StringComparison.Ordinal);
        // An array of structures; one of two dimensions; a type without a name.
        Assert.Equal(AdviceKind.Owned, Advice("Slot[]", 1, 1).Kind);
        Assert.Equal(AdviceKind.None, Advice("Slot[]", 0, 1).Kind);
        Assert.Equal(AdviceKind.None, Advice("Customer[,]", 1, 1).Kind);
        Assert.Equal(AdviceKind.None, Advice("", 1, 1).Kind);
    }

    /// <summary>while (…) { Process(Make()); }: a scope in Process deletes nothing, as what it was given is older.</summary>
    [Fact]
    public void AMethodThatWasGivenThemGetsNoScope()
    {
        DeathMaker Made(string place) => Site("T").Stack(place).Death(DeathKind.Stack, 50, method: 2, frameGone: true);
        Assert.StartsWith("Heap.Scope in a method below that does not give them out: only stacks", Made("A.Process(T)").Advice().Text, StringComparison.Ordinal);
        Assert.StartsWith("Heap.Scope in A.Main(): only stacks", Made("A.Main()").Advice().Text, StringComparison.Ordinal);
    }

    /// <summary>No scope can be written in a method that awaits or yields, nor in one without a name.</summary>
    [Theory]
    [InlineData("A.<RunAsync>d__3.MoveNext() + 0x11")]
    [InlineData("(a method without a name)")]
    public void WhereNoScopeCanBeThereIsNone(string place)
    {
        Assert.StartsWith("no advice: no method of the program", new DeathMaker().Types("T").Stack(place).Death(DeathKind.Unseen, 100).Advice().Text, StringComparison.Ordinal);
        DeathMaker made = new DeathMaker().Types("T").Stack("A.Make()", place, "A.Main()").Death(DeathKind.Stack, 50, method: 1, frameGone: true).Death(DeathKind.Lives, 1, aliveAfter: 1);
        Assert.StartsWith("Heap.Scope in a method below that does not give them out, A.Main() or farther out", made.Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void WhereMostWereNeverSeenThereIsNoAdvice()
    {
        DeathMaker Made(long unseen) => Site("Child", "Owner").Death(DeathKind.HolderDied, 100, holder: 1, offset: 16).Death(DeathKind.Unseen, unseen).Field(1, 16, held: 100, died: 100);
        Assert.Equal(AdviceKind.Owned, Made(900).Advice().Kind);
        Assert.Contains("100 of 1000 died", Made(900).Advice().Text, StringComparison.Ordinal);
        Assert.Equal(AdviceKind.None, Made(1_000).Advice().Kind);
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
        DeathMaker Made(long onStacks) => Site("Child", "Owner").Death(DeathKind.HolderDied, 60, holder: 1, offset: 16, aliveAfter: 2).Death(DeathKind.Stack, onStacks, aliveAfter: 0).Field(1, 16, held: 60, died: 60);
        Assert.Equal(AdviceKind.Owned, Made(60).Advice().Kind);
        Assert.Equal(AdviceKind.None, Made(61).Advice().Kind);
    }

    [Fact]
    public void WhatNoLookFoundAliveIsOfSomeScope()
    {
        Assert.Equal("Heap.Scope in a method below that does not give them out: no look found one of 100 alive. Check with FREEHOLD_DEBUG=1", Site("T").Death(DeathKind.Unseen, 100).Advice().Text);
        Assert.Equal("Heap.Scope in a method below that does not give them out: only stacks held the 4 of 104 that a look found alive. Check with FREEHOLD_DEBUG=1", Site("T").Death(DeathKind.Unseen, 100).Death(DeathKind.Stack, 4, method: 0).Advice().Text);
        // Whose stack it was is not known, or it is the framework's.
        Assert.Contains("in a method below", Site("T").Death(DeathKind.Stack, 9).Advice().Text, StringComparison.Ordinal);
        Assert.Contains("in a method below", Site("T").Stack("System.Text.Json.JsonSerializer.Serialize()").Death(DeathKind.Stack, 9, method: 2).Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void WhatWasSeenToOutliveAMethodGetsNoScopeThere()
    {
        // Seen alive after A.Make() had returned.
        DeathMaker made = Site("T").Death(DeathKind.Stack, 50, method: 0, frameGone: true).Death(DeathKind.Unseen, 50).Death(DeathKind.Stack, 1, method: 1, aliveAfter: 1);
        Assert.Contains("Heap.Scope in a method below that does not give them out, A.Main() or farther out", made.Advice().Text, StringComparison.Ordinal);
        // After all.
        made = Site("T").Death(DeathKind.Unseen, 50).Death(DeathKind.Lives, 1, aliveAfter: 2);
        Assert.Equal(new DeathAdvice(AdviceKind.None, "no advice: some were seen to outlive all methods below that are the program's"), made.Advice());
        // A method that had not returned, as the loop of a program.
        made = Site("T").Death(DeathKind.Stack, 50, method: 1);
        Assert.DoesNotContain("Heap.Scope in A.Main()", made.Advice().Text, StringComparison.Ordinal);
    }

    [Fact]
    public void WhatIsSharedGetsNoScopeEither() =>
        Assert.StartsWith("shared, no advice", Site("Node").Death(DeathKind.Shared, 20, aliveAfter: 1).Advice().Text, StringComparison.Ordinal);

    [Fact]
    public void WhereManyLiveOnThereIsNoScope()
    {
        Assert.Equal(AdviceKind.Scope, Site("T").Death(DeathKind.Unseen, 100).Death(DeathKind.Lives, 10).Advice().Kind);
        Assert.Equal("no advice: 11 live on beside 100 that died", Site("T").Death(DeathKind.Unseen, 100).Death(DeathKind.Lives, 11).Advice().Text);
    }

    [Fact]
    public void TooFewAreNotAdvised()
    {
        Assert.Equal("too few: 4 died", Site("T").Death(DeathKind.Unseen, 4).Advice().Text);
        Assert.Equal(AdviceKind.None, Site("Child", "Owner").Death(DeathKind.HolderDied, 49, holder: 1, offset: 16).Death(DeathKind.Unseen, 100).Field(1, 16, held: 49, died: 49).Advice().Kind);
        Assert.StartsWith("they are deleted already", Site("T").Death(DeathKind.Deleted, 4).Advice().Text, StringComparison.Ordinal);
        Assert.Equal("none has died", Site("T").Death(DeathKind.Lives, 4).Advice().Text);
    }

    [Fact]
    public void TheFrameworkGetsNoScope()
    {
        DeathMaker made = new DeathMaker().Types("T").Stack("System.String.Concat()", "App.Say()").Death(DeathKind.Unseen, 100);
        Assert.Equal(AdviceKind.Scope, made.Advice().Kind);
        Assert.Equal(AdviceKind.None, new DeathMaker().Types("T").Stack("System.String.Concat()").Death(DeathKind.Unseen, 100).Advice().Kind);
        Assert.Equal(AdviceKind.None, new DeathMaker().Types("T").Stack().Death(DeathKind.Unseen, 100).Advice().Kind);
    }

    [Fact]
    public async Task TheTableHasAdviceAndStack()
    {
        string file = Write(Known().ToBytes());
        (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", file);
        Assert.True(code == 0, error);
        Assert.Contains("953.7 MB allocated, 9,000 objects sampled, 700 looks", output, StringComparison.Ordinal);
        Assert.Contains("60 with a holder, 10 between looks", output, StringComparison.Ordinal);
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
        made.Content["untold"] = 9;
        string file = Write(made.ToBytes());
        (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", file, "--json");
        Assert.True(code == 0, error);
        JsonElement root = JsonDocument.Parse(output).RootElement, child = root.GetProperty("sites")[0];
        Assert.False(root.GetProperty("atExit").GetBoolean());
        Assert.Equal(9, root.GetProperty("untold").GetInt64());
        Assert.Equal("owned", child.GetProperty("advice").GetString());
        Assert.Equal((60, 10_000), (child.GetProperty("seenAlive").GetInt64(), child.GetProperty("aliveUntilBytes").GetInt64()));
        JsonElement field = Assert.Single(root.GetProperty("fields").EnumerateArray());
        Assert.Equal(("the field at byte 16 of Owner", 55, 1_000), (field.GetProperty("field").GetString(), field.GetProperty("followed").GetInt64(), field.GetProperty("unfollowed").GetInt64()));
        Assert.Equal(60, child.GetProperty("ended").GetProperty("holderDied").GetInt64());
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

    /// <summary>A right header before what never ends, such as a pipe.</summary>
    [Fact]
    public void NoMoreIsReadThanItSays()
    {
        byte[] whole = Known().ToBytes();
        using var endless = new MemoryStream([.. whole, .. new byte[1 << 20]]);
        Assert.Contains("something follows", Assert.Throws<ToolException>(() => DeathFile.Read(endless, "deaths")).Message, StringComparison.Ordinal);
        Assert.Equal(whole.Length + 1, endless.Position);
    }

    [Fact]
    public async Task SumsThatAreTooLargeDoNotEndTheTool()
    {
        DeathMaker made = Site("T", "Owner");
        for (int i = 0; i < 8; i++)
            made.Death(DeathKind.HolderDied, long.MaxValue / 4, holder: 1, offset: 8);
        foreach (JsonNode? row in (JsonArray)made.Content["deaths"]!)
        {
            foreach (string name in new[] { "bytes", "ageSeen", "ageDead" })
                row![name] = long.MaxValue / 4;
        }

        made.Field(1, 8, held: long.MaxValue / 4, died: long.MaxValue / 4).Field(1, 8, held: long.MaxValue / 4, died: long.MaxValue / 4);
        string file = Write(made.ToBytes());
        Assert.Equal(0, (await RunningProgram.ToolAsync("deaths", file)).Code);
        Assert.Equal(0, (await RunningProgram.ToolAsync("deaths", file, "--json")).Code);
    }

    [Fact]
    public void MoreThanAProgramWritesIsRefused()
    {
        DeathMaker made = Site("T", "Owner").Death(DeathKind.Unseen, 1);
        for (int i = 0; i <= 1 << 14; i++)
            made.Field(1, 8 * i, held: 1);
        Assert.Contains("there cannot be 16385 of 'fields'", Assert.Throws<ToolException>(made.Read).Message, StringComparison.Ordinal);
        byte[] whole = Known().ToBytes();
        BitConverter.TryWriteBytes(whole.AsSpan(16), (128UL << 20) + 1);
        Assert.Contains("cannot be", Assert.Throws<ToolException>(() => DeathFile.Read(new MemoryStream(whole), "deaths")).Message, StringComparison.Ordinal);
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
        { "type", "3" }, { "type", "-1" }, { "type", "1.5" }, { "stack", "9" }, { "kind", "10" }, { "holder", "-2" }, { "holder", "99" }, { "offset", "-8" }, { "method", "77" }, { "frameGone", "1" },
        { "aliveAfter", "3" }, { "samples", "-1" }, { "bytes", "9223372036854775807" }, { "ageSeen", "\"x\"" }, { "ageDead", "null" },
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

    private const string Check = "A use between two looks is not seen, one without allocations never is: check with FREEHOLD_DEBUG=1";

    private static DeathMaker Known() => new DeathMaker().Types("Child", "Owner", "Temporary")
        .Stack("Owner..ctor() in a.cs:line 3", "Program.Main() in a.cs:line 9").Stack("System.String.Concat()", "Program.Work() in a.cs:line 20", "Program.Main() in a.cs:line 10")
        .Death(DeathKind.HolderDied, 60, holder: 1, offset: 16, aliveAfter: 2).Death(DeathKind.Unseen, 10).Death(DeathKind.Deleted, 2).Death(DeathKind.Lives, 3)
        .Death(DeathKind.Stack, 6, type: 2, stack: 1, method: 3, frameGone: true).Death(DeathKind.Stack, 2, type: 2, stack: 1, method: 3).Death(DeathKind.Stack, 1, type: 2, stack: 1).Death(DeathKind.Unseen, 5, type: 2, stack: 1).Death(DeathKind.Unseen, 3, type: 2, stack: 1)
        .Field(1, 16, held: 90, died: 60, objects: 70, followed: 55, unfollowed: 1_000, number: 2, of: 3);

    private string Write(byte[] bytes)
    {
        string file = Path.Combine(_folder.FullName, "deaths");
        File.WriteAllBytes(file, bytes);
        return file;
    }
}
