using System.Diagnostics;

namespace Freehold.Integration.Tests;

/// <summary>Every program of tests/Differential prints on Freehold, byte for byte, what it prints on the stock runtime.</summary>
public sealed class DifferentialTests
{
    // Of processor time.
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(8);
    private static readonly Comparison s_comparison = new(() => Publisher.DifferentialStock, Repository.Programs, s_limit);

    public static TheoryData<string> Programs() => [.. Repository.Programs];

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStock(string program) => Compare(program, Settings.None);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWithVerify(string program) => Compare(program, Settings.Verify);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWithMprotect(string program) => Compare(program, Settings.Mprotect);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWithDebug(string program) => Compare(program, Settings.Debug);

    // One program in eight under each of these: `./build.sh stress` runs all under every mode.
    public static TheoryData<string> SomePrograms(int remainder) => [.. Repository.Programs.Where((_, i) => i % 8 == remainder)];

    [Theory]
    [MemberData(nameof(SomePrograms), 1)]
    public void SameAsStockWhileEverythingMoves(string program) => Compare(program, Settings.Moving);

    [Theory]
    [MemberData(nameof(SomePrograms), 5)]
    public void SameAsStockWhileEveryStaleReferenceFaults(string program) => Compare(program, Settings.Faulting);

    [Theory]
    [MemberData(nameof(SomePrograms), 7)]
    public void SameAsStockWhileEverySiteFaults(string program) => Compare(program, Settings.FaultingAtSites);

    [Theory]
    [MemberData(nameof(SomePrograms), 2)]
    public void SameAsStockWhileReferencesAreMadeCurrent(string program) => Compare(program, Settings.Remapping);

    [Theory]
    [MemberData(nameof(SomePrograms), 3)]
    public void SameAsStockWhileDeletionsMoveEverything(string program) => Compare(program, Settings.MovingAtDeletions);

    // Nothing that is deleted here was asked for by the program: whatever uses it afterwards was a root that the search missed.
    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileWhatNoRootReachesIsDeleted(string program) => Compare(program, Settings.Reclaiming);

    // The same without the marking beside the threads.
    [Theory]
    [MemberData(nameof(SomePrograms), 6)]
    public void SameAsStockWhileWhatNoRootReachesIsDeletedInStops(string program) => Compare(program, Settings.ReclaimingStopped);

    // Not where the frames themselves are compared: the stock program is optimised, and has fewer. Not where hundreds of threads have small stacks: the class constructor of LowLevelLock, which
    // such a build does not run ahead, waits with a LowLevelLock for another thread that runs it, and so calls itself until that is through; 150 milliseconds use up 256 KB.
    public static TheoryData<string> ProgramsUnoptimised() => [.. Repository.Programs.Where(name => name is not ("NativeFrames" or "ManyThreads"))];

    // What the JIT does not optimise keeps references in the frame from the method's first instruction to its last, and calls what else is folded or inlined.
    [LongTheory]
    [MemberData(nameof(ProgramsUnoptimised))]
    public void SameAsStockUnoptimisedWhileEverythingMoves(string program) => s_comparison.AssertSame(program, Publisher.DifferentialUnoptimised, Settings.Moving);

    public static TheoryData<string> SomeProgramsUnoptimised() => [.. Repository.Programs.Where((name, i) => i % 8 == 4 && name is not ("NativeFrames" or "ManyThreads"))];

    [LongTheory]
    [MemberData(nameof(SomeProgramsUnoptimised))]
    public void SameAsStockUnoptimisedWhileEveryStaleReferenceFaults(string program) => s_comparison.AssertSame(program, Publisher.DifferentialUnoptimised, Settings.Faulting);

    [Fact]
    public void TheExecutablesAreThoseThatAreMeant()
    {
        Assert.True(Repository.Programs.Count >= 45);
        s_comparison.AssertExecutables(Publisher.DifferentialFreehold);
    }

    [Fact]
    public void NoSymbolOfTheStockCollectorIsLinked()
    {
        // The names are there in the stock executable, so that the search is known to find them.
        string[] names = ["WKS::gc_heap", "WKS::GCHeap", "SVR::"];
        string stock = Symbols(Publisher.DifferentialStock);
        Assert.Contains("WKS::gc_heap", stock);
        Assert.Contains("WKS::GCHeap", stock);
        string freehold = Symbols(Publisher.DifferentialFreehold);
        Assert.Contains("freehold_delete", freehold);
        foreach (string name in names)
            Assert.DoesNotContain(name, freehold);
    }

    private static void Compare(string program, IReadOnlyDictionary<string, string> settings) => s_comparison.AssertSame(program, Publisher.DifferentialFreehold, settings);

    // With the separate debug file, where publish has put the symbols.
    private static string Symbols(Executable executable)
    {
        string debug = executable.Path + ".dbg";
        var start = new ProcessStartInfo("nm", ["-C", File.Exists(debug) ? debug : executable.Path]) { RedirectStandardOutput = true };
        using Process process = Process.Start(start)!;
        string text = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        Assert.Equal(0, process.ExitCode);
        return text;
    }
}
