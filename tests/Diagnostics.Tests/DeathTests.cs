using System.Diagnostics;
using System.Text.Json;
using Freehold.Integration.Tests;

namespace Freehold.Diagnostics.Tests;

/// <summary>FREEHOLD_DEATHS and `freehold deaths`, with a program whose objects die in known ways (tests/Diagnostics/Deaths.cs).</summary>
public sealed class DeathTests : IDisposable
{
    // The same objects are sampled in each run, and looks do not depend on how busy the machine is.
    private const string Seed = "seed:2";
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(5);
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("freehold-");

    private string File => Path.Combine(_folder.FullName, "deaths");

    public void Dispose() => _folder.Delete(recursive: true);

    [Fact]
    public async Task EachKindOfDeathGetsItsAdvice()
    {
        Succeeds(Run("deaths", File));
        JsonElement profile = await ReadAsync(File);
        Assert.True(profile.GetProperty("atExit").GetBoolean());
        Assert.Equal(0, profile.GetProperty("withoutRoom").GetInt64());
        JsonElement temporary = Site(profile, "Temporary"), content = Site(profile, "System.Byte[]", "Deaths.Fill"), replaced = Site(profile, "Replaced"), child = Site(profile, "Child"),
            shared = Site(profile, "Node"), held = Site(profile, "Held"), lives = Site(profile, "LivesOn");
        Assert.Equal("scope", Advice(temporary));
        Assert.Equal("scope", Advice(content));
        Assert.Equal("scope", Advice(held));
        Assert.Contains("Heap.Scope in Freehold.Diagnostics.Deaths.Hold(", Because(held), StringComparison.Ordinal);
        // Which static it is cannot be told.
        Assert.Equal("none", Advice(replaced));
        Assert.Contains("a field that is static", Because(replaced), StringComparison.Ordinal);
        Assert.Contains("when it had another value", Because(replaced), StringComparison.Ordinal);
        Assert.Equal("owned", Advice(child));
        Assert.Contains("Deaths+Owner", Because(child), StringComparison.Ordinal);
        Assert.Equal("none", Advice(shared));
        Assert.Contains("shared, no advice", Because(shared), StringComparison.Ordinal);
        // Whoever takes a job uses it, but no look sees that.
        JsonElement job = Site(profile, "+Job", "Deaths.Take(");
        Assert.Equal("none", Advice(job));
        Assert.Contains("nobody saw who had them when the field had another value", Because(job), StringComparison.Ordinal);
        // A local beside the field; a value of many that is allocated once; a finalizer that keeps it.
        Assert.Equal("none", Advice(Site(profile, "Parent")));
        Assert.Contains("shared, no advice", Because(Site(profile, "Parent")), StringComparison.Ordinal);
        Assert.Equal("none", Advice(Site(profile, "Options")));
        Assert.Contains("shared, no advice", Because(Site(profile, "Options")), StringComparison.Ordinal);
        Assert.DoesNotContain("[Owned]", Because(Site(profile, "+Lent")), StringComparison.Ordinal);
        JsonElement settings = Site(profile, "+Settings", "Deaths.Ask("), asked = profile.GetProperty("fields").EnumerateArray().Single(field => field.GetProperty("field").GetString()!.EndsWith("+Request", StringComparison.Ordinal));
        Assert.Equal("none", Advice(settings));
        Assert.True(settings.GetProperty("ended").GetProperty("holderDied").GetInt64() >= 50, settings.ToString());
        Assert.True(asked.GetProperty("shared").GetInt64() + asked.GetProperty("survived").GetInt64() > 0, asked.ToString());
        Assert.Equal("none", Advice(lives));
        Assert.Equal(0, lives.GetProperty("dead").GetInt64());
        Assert.True(lives.GetProperty("alive").GetInt64() > 0);
        // Where they were allocated, the innermost first.
        Assert.Contains(child.GetProperty("stack").EnumerateArray(), place => place.GetString()!.Contains("Deaths.Own(", StringComparison.Ordinal));
        // What the profile is made of is not the program's.
        Assert.DoesNotContain(profile.GetProperty("sites").EnumerateArray(), site => site.GetProperty("stack").EnumerateArray().Any(place => place.GetString()!.Contains("DeathProfile", StringComparison.Ordinal)));
        (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", File);
        Assert.True(code == 0, error);
        Assert.Contains("Deaths+Child: [Owned] on the field at byte 8 of", output, StringComparison.Ordinal);
    }

    /// <summary>A program that is killed leaves what was known some looks before, as a whole.</summary>
    [Fact]
    public async Task WhatIsKilledLeavesAProfile()
    {
        var start = new ProcessStartInfo(Published.Plain.Path, ["deaths-for-ever"]) { RedirectStandardOutput = true };
        start.Environment["FREEHOLD_DEATHS"] = File;
        start.Environment["FREEHOLD_STRESS"] = Seed;
        using Process process = Process.Start(start)!;
        try
        {
            Assert.Equal("ready", await process.StandardOutput.ReadLineAsync());
            // No time limit of its own: the test run has one.
            while (!System.IO.File.Exists(File) && !process.HasExited)
                await Task.Delay(20);
            Assert.True(System.IO.File.Exists(File), "it exited without a profile");
        }
        finally
        {
            process.Kill();
        }

        await process.WaitForExitAsync();
        JsonElement profile = await ReadAsync(File);
        Assert.False(profile.GetProperty("atExit").GetBoolean());
        Assert.True(profile.GetProperty("looks").GetInt64() >= 8);
        Assert.Equal(process.Id, profile.GetProperty("process").GetInt64());
    }

    /// <summary>What is written has thousands of rows, and the heap is nearly full: the program and the profile come to their ends.</summary>
    [Fact]
    public async Task AFullHeapHasRoomForIt()
    {
        Outcome outcome = Published.Plain.Run(new Dictionary<string, string> { ["FREEHOLD_DEATHS"] = File, ["FREEHOLD_STRESS"] = Seed, ["FREEHOLD_HEAP_LIMIT"] = "64M" }, s_limit, "deaths-without-room");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        // A profile that was still being written when the heap became full is left out: on a busy machine.
        Assert.True(outcome.Error.Length == 0 || outcome.Error.TrimEnd().EndsWith("there is no memory to write the file; what was written before is there.", StringComparison.Ordinal), outcome.ToString());
        JsonElement profile = await ReadAsync(File);
        Assert.True(profile.GetProperty("atExit").GetBoolean());
        Assert.Equal(0, profile.GetProperty("withoutRoom").GetInt64());
        JsonElement[] sites = [.. profile.GetProperty("sites").EnumerateArray()];
        Assert.True(sites.Length > 8_000, $"{sites.Length} sites");
        Assert.Equal(profile.GetProperty("samples").GetInt64(), profile.GetProperty("untold").GetInt64() + sites.Sum(site => site.GetProperty("dead").GetInt64() + site.GetProperty("alive").GetInt64() + site.GetProperty("deleted").GetInt64()));
        // The thread that writes runs the program's handlers too.
        Assert.Contains(sites, site => site.GetProperty("type").GetString()!.EndsWith("+Noticed", StringComparison.Ordinal));
    }

    [Fact]
    public async Task AChildOfAForkLeavesTheFileToItsParent()
    {
        Succeeds(Run("deaths-fork", Path.Combine(_folder.FullName, "deaths-%p")));
        string file = Assert.Single(Directory.GetFiles(_folder.FullName));
        JsonElement profile = await ReadAsync(file);
        Assert.Equal($"deaths-{profile.GetProperty("process").GetInt64()}", Path.GetFileName(file));
        Assert.True(profile.GetProperty("atExit").GetBoolean());
    }

    [Fact]
    public void WhatCannotBeWrittenIsAnErrorAtStart()
    {
        Outcome outcome = Run("deaths", Path.Combine(_folder.FullName, "none", "deaths"));
        Assert.NotEqual(0, outcome.ExitCode);
        Assert.Equal("", outcome.Output);
        Assert.Contains("Freehold: FREEHOLD_DEATHS: '", outcome.Error, StringComparison.Ordinal);
        Assert.Contains("cannot be written: No such file or directory.", outcome.Error, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("FREEHOLD_DEBUG", "1")]
    [InlineData("FREEHOLD_SAMPLE", "1000")]
    [InlineData("FREEHOLD_COMPACTION", "1")]
    public void WhatIsSetOtherwiseIsRefused(string variable, string value)
    {
        Outcome outcome = Published.Plain.Run(new Dictionary<string, string> { ["FREEHOLD_DEATHS"] = File, [variable] = value }, s_limit, "deaths");
        Assert.NotEqual(0, outcome.ExitCode);
        Assert.Contains($"FREEHOLD_DEATHS does not go with {variable}={value}: ", outcome.Error, StringComparison.Ordinal);
        Assert.False(System.IO.File.Exists(File));
    }

    /// <summary>Objects move under it, threads stop for rounds: what is told is the same.</summary>
    [Fact]
    public async Task AdviceIsTheSameWhereObjectsMove()
    {
        Outcome outcome = Published.Plain.Run(new Dictionary<string, string> { ["FREEHOLD_DEATHS"] = File, ["FREEHOLD_STRESS"] = "promote,fault,reuse," + Seed, ["FREEHOLD_STATS"] = "1" }, s_limit, "deaths-short");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.Matches("compaction +[0-9.]+ MB in [1-9][0-9]* objects of [1-9]", outcome.Error);
        JsonElement profile = await ReadAsync(File);
        Assert.Equal("owned", Advice(Site(profile, "Child")));
        Assert.Equal("none", Advice(Site(profile, "Node")));
        Assert.Equal("none", Advice(Site(profile, "LivesOn")));
    }

    private static void Succeeds(Outcome outcome)
    {
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.Equal("", outcome.Error);
    }

    private static Outcome Run(string verb, string file) => Published.Plain.Run(new Dictionary<string, string> { ["FREEHOLD_DEATHS"] = file, ["FREEHOLD_STRESS"] = Seed }, s_limit, verb);

    private static async Task<JsonElement> ReadAsync(string file)
    {
        (int code, string output, string error) = await RunningProgram.ToolAsync("deaths", file, "--json", "--top", "100000");
        Assert.True(code == 0, error);
        return JsonDocument.Parse(output).RootElement;
    }

    // The one with the most bytes, or samples where none has died.
    private static JsonElement Site(JsonElement profile, string type, string place = "Deaths.") =>
        profile.GetProperty("sites").EnumerateArray().First(site =>
            site.GetProperty("type").GetString()!.EndsWith(type, StringComparison.Ordinal) && site.GetProperty("stack").EnumerateArray().Any(frame => frame.GetString()!.Contains(place, StringComparison.Ordinal)));

    private static string Advice(JsonElement site) => site.GetProperty("advice").GetString()!;

    private static string Because(JsonElement site) => site.GetProperty("because").GetString()!;
}
