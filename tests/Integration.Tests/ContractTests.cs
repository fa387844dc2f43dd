using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;

namespace Freehold.Integration.Tests;

/// <summary>Every case of tests/Contract, in one theory per setting.</summary>
public sealed class ContractTests
{
    // Of processor time.
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(8);

    private static readonly Lazy<string[]> s_cases = new(() =>
        Publisher.Contract.Run(null, s_limit, "list").Output.Split('\n', StringSplitOptions.RemoveEmptyEntries));

    // Needs arguments, a special setting, or is meant to crash: tests of their own, below.
    private static readonly string[] s_special = ["crash-", "exit-", "debug-", "guarded-", "out-of-memory-", "out-of-addresses-", "mappings-terabyte", "reclaim-", "leaks-", "pressure-", "model"];

    // Resident memory and the mappings are not the promise of these settings.
    private static readonly string[] s_memory = ["resident-", "mappings"];

    public static TheoryData<string> Cases() => [.. s_cases.Value.Where(name => !s_special.Any(name.StartsWith))];

    // In debug mode each object has pages of its own, and nothing is promoted.
    public static TheoryData<string> CasesOfDebug() => [.. s_cases.Value.Where(name => !s_special.Concat(s_memory).Any(name.StartsWith) && !name.StartsWith("moving-", StringComparison.Ordinal))];

    /// <summary>The cases that run without arguments under any setting.</summary>
    internal static IEnumerable<string> Ordinary(IEnumerable<string> cases) => cases.Where(name => !s_special.Concat(s_memory).Any(name.StartsWith));

    [Theory]
    [MemberData(nameof(Cases))]
    public void Kept(string name) => Passes(Settings.None, "run", name);

    [Theory]
    [MemberData(nameof(Cases))]
    public void KeptWithMprotect(string name) => Passes(Settings.Mprotect, "run", name);

    // Every second one, as the verifier walks the heap again and again: `./build.sh stress --all` has all.
    public static TheoryData<string> CasesToVerify() => [.. Ordinary(s_cases.Value).Where((_, i) => i % 2 == 0)];

    [Theory]
    [MemberData(nameof(CasesToVerify))]
    public void KeptWithVerify(string name) => Passes(Settings.Verify, "run", name);

    [Theory]
    [MemberData(nameof(CasesOfDebug))]
    public void KeptWithDebug(string name) => Passes(Settings.Debug, "run", name);

    // One case in sixteen with every small object guarded, which does not move: all of them take minutes.
    public static TheoryData<string> SomeCasesOfSamples() => [.. Ordinary(s_cases.Value).Where(name => !name.StartsWith("moving-", StringComparison.Ordinal)).Where((_, i) => i % 16 == 5)];

    [Theory]
    [MemberData(nameof(SomeCasesOfSamples))]
    public void KeptWithSamples(string name) => Passes(Settings.Guarded, "run", name);

    public static TheoryData<string> CasesOfGuarded() => [.. s_cases.Value.Where(name => name.StartsWith("guarded-", StringComparison.Ordinal) && name != "guarded-rate")];

    [Theory]
    [MemberData(nameof(CasesOfGuarded))]
    public void AGuardedObjectTellsWhereItWasAllocatedAndDeleted(string name)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.None, Settings.GuardedMprotect, Settings.Moving, Settings.Remapping, Settings.Reusing, Settings.MovingAtDeletions })
            Passes(new Dictionary<string, string>(settings) { ["FREEHOLD_SAMPLE"] = "1" }, "run", name);
    }

    /// <summary>Most walks of the same code are spared, of allocations and of deletions: with a version of the runtime whose iterator is laid out otherwise none would be.</summary>
    [Fact]
    public void StacksThatWereWalkedAreFoundAgain()
    {
        Outcome outcome = Publisher.Contract.Run(new Dictionary<string, string> { ["FREEHOLD_SAMPLE"] = "1", ["FREEHOLD_STATS"] = "1" }, s_limit, "run", "guarded-sites");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Match line = Regex.Match(outcome.Error, @"stacks +(\d+) of allocations walked and remembered, (\d+) found again; of deletions (\d+) and (\d+)");
        Assert.True(line.Success, outcome.ToString());
        // 400 objects of 14 stacks; others take their places.
        Assert.True(int.Parse(line.Groups[2].Value, CultureInfo.InvariantCulture) >= 200 && int.Parse(line.Groups[4].Value, CultureInfo.InvariantCulture) >= 200, line.Value);
    }

    [Fact]
    public void OneInSoManyIsGuarded() => Passes(new Dictionary<string, string> { ["FREEHOLD_SAMPLE"] = "1000" }, "run", "guarded-rate");

    // One case in sixteen under each of these: all of them take an hour, which `./build.sh stress` has.
    public static TheoryData<string> SomeCases(int remainder) => [.. s_cases.Value.Where(name => !s_special.Concat(s_memory).Any(name.StartsWith)).Where((_, i) => i % 16 == remainder)];

    [Theory]
    [MemberData(nameof(SomeCases), 3)]
    public void KeptWhileEverythingMoves(string name) => Passes(Settings.Moving, "run", name);

    [Theory]
    [MemberData(nameof(SomeCases), 11)]
    public void KeptWhileEveryStaleReferenceFaults(string name) => Passes(Settings.Faulting, "run", name);

    [Theory]
    [MemberData(nameof(SomeCases), 7)]
    public void KeptWhileEverySiteFaults(string name) => Passes(Settings.FaultingAtSites, "run", name);

    // Threads that block the signals which stop them.
    [Theory]
    [InlineData("outside-blocked-before")]
    [InlineData("outside-blocked-later")]
    [InlineData("outside-blocked-by-sigprocmask")]
    public void KeptWhileEverythingMovesAndIsHeldUp(string name)
    {
        foreach (string modes in new[] { "promote:3000,fault,delay", "promote:2000,dedangle", "promote:2000,preempt" })
            Passes(new Dictionary<string, string> { ["FREEHOLD_STRESS"] = modes }, "run", name);
    }

    // Nothing else moves anything here.
    [Fact]
    public void EverySiteFaultsOnce() => Passes(new Dictionary<string, string> { ["FREEHOLD_STRESS"] = "sites,deletion:10000000" }, "run", "moving-sites");

    [Theory]
    [MemberData(nameof(SomeCases), 4)]
    public void KeptWhileReferencesAreMadeCurrent(string name) => Passes(Settings.Remapping, "run", name);

    // Enough work for a thread to be held up anywhere on the way to a header while the object moves and its old address is retired.
    [Theory]
    [InlineData("lock-inflated", "400", "20")]
    [InlineData("lock-inflated-collect", "400", "20")]
    [InlineData("lock-contended", "2000", "200")]
    [InlineData("lock-contended-collect", "1000", "200")]
    public void LocksOfMovingObjectsAreHeld(string name, string rounds, string roundsWhileMoving)
    {
        Passes(Settings.None, "run", name, rounds);
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Mprotect, Settings.Moving, Settings.Remapping, Settings.Reclaiming })
            Passes(settings, "run", name, roundsWhileMoving);
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Faulting, Settings.FaultingAtSites })
            Passes(settings, "run", name, "3");
    }

    [Theory]
    [MemberData(nameof(SomeCases), 9)]
    public void KeptWhileThreadsAreHeldAnywhere(string name) => Passes(Settings.Preempting, "run", name);

    [Theory]
    [InlineData("model", "5", "3000", "4")]
    [InlineData("model-collections", "6", "10000", "4")]
    [InlineData("model-collections", "7", "20000", "1")]
    public void TheModelsAgreeWhileEverythingMoves(params string[] arguments)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Moving, Settings.Faulting, Settings.FaultingAtSites, Settings.Remapping, Settings.Reclaiming, Settings.MovingAtDeletions, Settings.Preempting })
            Passes(settings, ["run", .. arguments]);
    }

    [Theory]
    [InlineData("userfaultfd")]
    [InlineData("mprotect")]
    public void AGrowingHeapIsPrefaulted(string protection)
    {
        var settings = new Dictionary<string, string> { ["FREEHOLD_STATS"] = "1", ["FREEHOLD_PROTECTION"] = protection };
        Outcome outcome = Publisher.Contract.Run(settings, s_limit, "run", "resident-growing-heap");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.Matches("[0-9]+ fresh \\([1-9][0-9]* prefaulted\\)", outcome.Error);
    }

    [Theory]
    [InlineData("debug-type")]
    [InlineData("debug-immediately")]
    [InlineData("debug-huge")]
    [InlineData("debug-headers")]
    [InlineData("debug-pinned-before")]
    [InlineData("debug-double-delete")]
    [InlineData("debug-stops-beside-deletions")]
    public void DebugModeThrowsFromTheFirstUse(string name)
    {
        Passes(Settings.Debug, "run", name);
        Passes(Settings.DebugMprotect, "run", name);
    }

    public static TheoryData<string> CasesOfStacks() => [.. s_cases.Value.Where(name => name.StartsWith("debug-", StringComparison.Ordinal) && name is not ("debug-immediately" or "debug-stops-beside-deletions"))];

    [Theory]
    [MemberData(nameof(CasesOfStacks))]
    public void DebugModeTellsWhereItWasAllocatedAndDeleted(string name) => Passes(Settings.Stacks, "run", name);

    [Theory]
    [InlineData("out-of-memory-small", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-large", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-text", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-often", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-dangling", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-threads", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-deletion", "FREEHOLD_HEAP_LIMIT", "64M")]
    [InlineData("out-of-memory-small", "DOTNET_GCHeapHardLimit", "4000000")]
    [InlineData("out-of-memory-large", "DOTNET_GCHeapHardLimit", "4000000")]
    public void OutOfMemoryIsAnException(string name, string variable, string limit) =>
        Passes(new Dictionary<string, string> { [variable] = limit }, "run", name, (64 << 20).ToString(CultureInfo.InvariantCulture));

    [Theory]
    [InlineData("100M", 100 << 20)]
    [InlineData("", 200 << 20)]
    public void TheLimitCanBeRefreshedUnlessTheVariableIsSet(string variable, int limit) =>
        Passes(new Dictionary<string, string> { ["FREEHOLD_HEAP_LIMIT"] = variable }, "run", "out-of-memory-refreshed", limit.ToString(CultureInfo.InvariantCulture));

    [Theory]
    [InlineData("reclaim-shapes")]
    [InlineData("reclaim-threads")]
    [InlineData("reclaim-finalizers")]
    [InlineData("reclaim-limit")]
    [InlineData("reclaim-loops")]
    public void WhatIsForgottenGoesBeforeAnAllocationFails(string name)
    {
        Passes(new Dictionary<string, string> { ["FREEHOLD_HEAP_LIMIT"] = "64M" }, "run", name);
        Passes(new Dictionary<string, string>(Settings.Mprotect) { ["FREEHOLD_HEAP_LIMIT"] = "64M" }, "run", name);
        Passes(new Dictionary<string, string>(Settings.Moving) { ["FREEHOLD_HEAP_LIMIT"] = "64M" }, "run", name);
    }

    [Fact]
    public void NothingGoesByItselfIfTheKnobIsOff() =>
        Passes(new Dictionary<string, string> { ["FREEHOLD_HEAP_LIMIT"] = "64M", ["FREEHOLD_RECLAIM"] = "off" }, "run", "reclaim-off");

    [Fact]
    public void WhatIsForgottenGoesWhenTheHeapHasGrown()
    {
        Passes(Settings.None, "run", "reclaim-growth", "500000000");
        // The verifier takes longer than the program beside it needs to grow.
        Passes(new Dictionary<string, string>(Settings.Stopped) { ["FREEHOLD_VERIFY"] = "1" }, "run", "reclaim-growth", "500000000");
        Passes(Settings.Stopped, "run", "reclaim-growth", "500000000");
    }

    private static Dictionary<string, string> Reporting(IReadOnlyDictionary<string, string> settings) => new(settings) { ["FREEHOLD_RECLAIM"] = "report" };

    [Theory]
    [InlineData("leaks-found")]
    [InlineData("leaks-reported")]
    [InlineData("leaks-sites")]
    [InlineData("leaks-sites-large")]
    [InlineData("leaks-threads")]
    [InlineData("leaks-event")]
    public void LeaksAreToldAndNothingIsDeleted(string name)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.None, Settings.Mprotect })
            Passes(Reporting(settings), "run", name);
    }

    [Fact]
    public void SitesAreThoseOfMovingObjects()
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Moving, Settings.Faulting, Settings.Remapping, Settings.Reusing })
            Passes(Reporting(settings), "run", "leaks-sites", "800000");
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Moving, Settings.Remapping })
            Passes(Reporting(settings), "run", "leaks-threads");
    }

    // A barrier marks the page where an object was; the handler of its fault marks the one where it is now. The verifier finds a page without a mark.
    [Fact]
    public void PagesOfObjectsThatHaveMovedAreMarked()
    {
        var settings = new Dictionary<string, string>(Settings.Faulting) { ["FREEHOLD_VERIFY"] = "1" };
        settings["FREEHOLD_STRESS"] += ",reclaim:3000";
        Passes(settings, "run", "young-moved");
    }

    [Theory]
    [InlineData("leaks-found")]
    [InlineData("leaks-exact")]
    public void WithStacksSitesAreExact(string name) => Passes(Reporting(Settings.Stacks), "run", name);

    [Fact]
    public void WithoutReportModeNoSiteIsKnown() => Passes(Settings.None, "run", "leaks-auto");

    [Fact]
    public void LeaksAreToldAtExit()
    {
        Outcome outcome = Publisher.Contract.Run(Reporting(Settings.None), s_limit, "run", "leaks-exit");
        Assert.True(outcome.ExitCode == 0 && outcome.Output == "ok\n", outcome.ToString());
        Assert.StartsWith("Freehold: leaks: ", outcome.Error);
        Assert.Matches("\n +[0-9]+ B +7 x Freehold\\.Contract\\.Leaks\\+AtExit\n", outcome.Error);
        // Deleted by a handler of ProcessExit.
        Assert.DoesNotContain("Subject", outcome.Error);
        Assert.Empty(Publisher.Contract.Run(Settings.None, s_limit, "run", "leaks-exit").Error);
    }

    [Theory]
    [InlineData("pressure-cache")]
    [InlineData("pressure-once")]
    [InlineData("pressure-handlers")]
    [InlineData("pressure-blocked")]
    [InlineData("pressure-add-and-remove")]
    [InlineData("pressure-never")]
    public void TheProgramIsToldBeforeMemoryEnds(string name)
    {
        List<IReadOnlyDictionary<string, string>> all = [Settings.None, Settings.Mprotect];
        if (name is "pressure-cache" or "pressure-never")
            all.Add(Settings.Moving);  // the others fill 27 of 32 blocks: a round may have the rest when an allocation needs one
        foreach (IReadOnlyDictionary<string, string> settings in all)
            Passes(new Dictionary<string, string>(settings) { ["FREEHOLD_HEAP_LIMIT"] = "64M" }, "run", name);
    }

    [Fact]
    public void NothingIsLookedForWhereAllIsDeleted() => Passes(Settings.None, "run", "reclaim-nothing-to-do");

    /// <summary>As for the stock collector: three quarters of what the container may have.</summary>
    [MemoryGroupTheory]
    [InlineData("out-of-memory-small")]
    [InlineData("out-of-memory-large")]
    [InlineData("out-of-memory-figures")]
    public void AContainersMemoryIsTheLimit(string name)
    {
        using MemoryGroup? group = MemoryGroup.TryMake(400 << 20);
        Outcome outcome = group!.Run(Publisher.Contract, s_limit, "run", name, (300 << 20).ToString(CultureInfo.InvariantCulture));
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
    }

    [Theory]
    [InlineData("out-of-addresses-small")]
    [InlineData("out-of-addresses-threads")]
    [InlineData("out-of-addresses-huge")]
    [InlineData("out-of-addresses-held")]
    [InlineData("out-of-addresses-held-huge")]
    public void AddressesAreUsedAgain(string name)
    {
        Passes(Settings.FewAddresses, "run", name);
        Passes(Settings.FewAddressesMprotect, "run", name);
    }

    // With a count that says that it happened.
    [Theory]
    [InlineData("", "8", "2000000", "1")]
    [InlineData("", "9", "1000000", "4")]
    [InlineData("FREEHOLD_VERIFY=1", "10", "200000", "4")]
    [InlineData("FREEHOLD_PROTECTION=mprotect", "11", "1000000", "4")]
    public void WhatWasAtAnAddressBeforeIsNotMet(string setting, params string[] arguments)
    {
        var settings = new Dictionary<string, string>(Settings.Reusing);
        if (setting.Split('=') is [string name, string value])
            settings[name] = value;
        // On a busy machine the model may be through before the first remap is: then it makes more steps.
        long steps = long.Parse(arguments[1], CultureInfo.InvariantCulture);
        for (int tries = 0; tries < 6; tries++)
        {
            Outcome outcome = Publisher.Contract.Run(settings, s_limit, ["run", "model-reuse", arguments[0], (steps << Math.Min(tries, 3)).ToString(CultureInfo.InvariantCulture), arguments[2]]);
            Assert.True(outcome.ExitCode == 0 && outcome.Output.EndsWith("used again\nok\n", StringComparison.Ordinal), outcome.ToString());
            if (!outcome.Output.Contains("\n0 MB", StringComparison.Ordinal))
                return;
        }
        Assert.Fail("no address was used again");
    }

    [Theory]
    [MemberData(nameof(SomeCases), 13)]
    public void KeptWhileAddressesAreUsedAgain(string name) => Passes(Settings.Reusing, "run", name);

    [Theory]
    [InlineData("model", "1", "30000", "1")]
    [InlineData("model", "2", "30000", "1")]
    [InlineData("model", "3", "30000", "4")]
    [InlineData("model", "4", "10000", "16")]
    [InlineData("model-collections", "1", "50000", "1")]
    [InlineData("model-collections", "2", "30000", "4")]
    public void TheModelAgrees(params string[] arguments)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.None, Settings.Mprotect, Settings.Debug })
            Passes(settings, ["run", .. arguments]);
    }

    // Each collection of the model walks the heap five times here: fewer steps.
    [Theory]
    [InlineData("model", "1", "2000", "1")]
    [InlineData("model", "3", "1000", "4")]
    [InlineData("model", "4", "300", "16")]
    public void TheModelAgreesAndTheHeapIsValid(params string[] arguments)
    {
        Passes(Settings.Verify, ["run", .. arguments]);
    }

    [Theory]
    [InlineData("crash-native-null", 139)]
    [InlineData("crash-native-wild", 139)]
    [InlineData("crash-managed-wild", 134)]
    [InlineData("crash-managed-wild-read-in-heap", 134)]
    [InlineData("crash-managed-wild-write-in-heap", 134)]
    [InlineData("crash-managed-wild-above-heap", 134)]
    [InlineData("crash-native-wild-in-heap", 139)]
    [InlineData("crash-unhandled-dangling", 134)]
    [InlineData("crash-stack-overflow", 139)]
    [InlineData("crash-fail-fast", 134)]
    public void ForeignFaultsEndTheProcess(string name, int exitCode)
    {
        Outcome outcome = Publisher.Contract.Run(null, s_limit, "run", name);
        Assert.True(outcome.ExitCode == exitCode, outcome.ToString());
        Assert.DoesNotContain("ok\n", outcome.Output);
    }

    [Theory]
    [InlineData("exit-under-load")]
    [InlineData("exit-under-load-from-thread")]
    public void TheProcessEndsWhileOthersUseTheHeap(string name)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.None, Settings.None, Settings.Mprotect, Settings.Remapping, Settings.Faulting, Settings.Reclaiming, Settings.Preempting })
        {
            foreach (string milliseconds in new[] { "1", "30", "200" })
            {
                Outcome outcome = Publisher.Contract.Run(settings, s_limit, "run", name, milliseconds);
                Assert.True(outcome.ExitCode == 3 && outcome.Error.Length == 0, outcome.ToString());
            }
        }
    }

    /// <summary>A terabyte of addresses, then more of them while somebody else has all mappings, or all but 600. Less where everything moves.</summary>
    [Theory]
    [InlineData("mappings-terabyte")]
    [InlineData("mappings-terabyte-almost-used-up")]
    public void WithoutMappingsNothingAborts(string name)
    {
        Passes(Settings.None, "run", name);
        Passes(Settings.Mprotect, "run", name, "64");
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Moving, Settings.Remapping, Settings.Faulting, Settings.Preempting })
            Passes(settings, "run", name, "16");
    }

    [Fact]
    public void AnUnhandledDanglingReferenceIsDescribed()
    {
        Outcome outcome = Publisher.Contract.Run(null, s_limit, "run", "crash-unhandled-dangling");
        Assert.Contains("System.DanglingReferenceException", outcome.Error);
        Assert.Contains("Crashing", outcome.Error);
    }

    [Fact]
    public void ThrowingWithoutAnyMemoryEndsTheProcessWithAMessage()
    {
        Outcome outcome = Publisher.Contract.Run(new Dictionary<string, string> { ["FREEHOLD_HEAP_LIMIT"] = "64M" }, s_limit, "run", "crash-out-of-memory");
        Assert.True(outcome.ExitCode == 134, outcome.ToString());
        Assert.Contains("nothing is left to throw an OutOfMemoryException with", outcome.Error);
    }

    [Fact]
    public void ConservativeScanningIsRefused()
    {
        Outcome outcome = Publisher.Contract.Run(new Dictionary<string, string> { ["DOTNET_gcConservative"] = "1" }, s_limit, "run", "gc-bytes");
        Assert.True(outcome.ExitCode is not null and not 0, outcome.ToString());
        Assert.StartsWith("Freehold: conservative scanning of stacks", outcome.Error);
    }

    [Fact]
    public void NativeCodeWithADeadPointerDoesNotHang()
    {
        Outcome outcome = Publisher.Contract.Run(null, s_limit, "run", "crash-native-gone");
        Assert.True(outcome.ExitCode is 0 or 134 or 135 or 139, outcome.ToString());
    }

    [Fact]
    public void TheTraceLeadsToTheLine()
    {
        Outcome outcome = Publisher.Contract.Run(null, s_limit, "run", "throw-trace");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        string offset = outcome.Output.Split('\n').Single(line => line.StartsWith("ip ", StringComparison.Ordinal))[3..].Trim();
        var start = new ProcessStartInfo("addr2line", ["-f", "-e", Publisher.Contract.Path + ".dbg", "0x" + offset]) { RedirectStandardOutput = true };
        using Process process = Process.Start(start)!;
        string[] answer = process.StandardOutput.ReadToEnd().Split('\n');
        process.WaitForExit();
        string source = Path.Combine(Repository.Root, "tests", "Contract", "Throwing.cs");
        int line = Array.FindIndex(File.ReadAllLines(source), text => text.Contains("int ReadsGone(", StringComparison.Ordinal)) + 1;
        Assert.Contains("ReadsGone", answer[0]);
        Assert.EndsWith("Throwing.cs:" + line, answer[1].Split(' ')[0]);
    }

    // What a comparison of two typeof decides is decided when it is compiled.
    [Fact]
    public void ComparisonsOfTypesFold()
    {
        var start = new ProcessStartInfo("nm", [Publisher.Contract.Path + ".dbg"]) { RedirectStandardOutput = true };
        using Process process = Process.Start(start)!;
        string symbols = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Assert.Contains("OnlyIfTypesDiffer", symbols);
        Assert.DoesNotContain("OnlyIfTypesDoNotFold", symbols);
    }

    // Each comparison that is not an instruction, while other threads and settings move what is compared.
    public static TheoryData<string> Comparisons() => [.. s_cases.Value.Where(name => name.StartsWith("moving-compare-", StringComparison.Ordinal))];

    [Theory]
    [MemberData(nameof(Comparisons))]
    public void ComparisonsKnowNames(string name)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.Moving, Settings.Faulting, Settings.FaultingAtSites, Settings.Remapping })
            Passes(settings, "run", name);
    }

    private static void Passes(IReadOnlyDictionary<string, string> settings, params IEnumerable<string> arguments)
    {
        Outcome outcome = Publisher.Contract.Run(settings, s_limit, arguments);
        Assert.True(outcome.ExitCode == 0 && outcome.Output.EndsWith("ok\n", StringComparison.Ordinal), string.Join(' ', arguments) + ": " + outcome);
    }
}
