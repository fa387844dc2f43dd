namespace Freehold.Integration.Tests;

/// <summary>Programs whose malloc is the meshing one (<c>FreeholdNativeHeap=mesh</c>).</summary>
public sealed class NativeHeapTests
{
    // Of processor time.
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(8);
    private static readonly Comparison s_comparison = new(() => Publisher.DifferentialStock, Repository.Programs, s_limit);

    // A pass at every 20th time that a thread needs the global heap.
    private static readonly Dictionary<string, string> s_meshing = new() { ["FREEHOLD_MESH_STRESS"] = "20" };

    private static readonly string[] s_verbs = ["statistics", "pairs", "sparse", "beside", "calls", "processes", "forks"];

    public static TheoryData<string, string, string> Verbs()
    {
        var data = new TheoryData<string, string, string>();
        foreach (string verb in s_verbs)
        {
            foreach (string barrier in new[] { "auto", "user", "mprotect" })
                data.Add(verb, barrier, "auto");
            data.Add(verb, "mprotect", "mprotect");
        }
        return data;
    }

    /// <summary>tests/NativeHeap under each barrier of the meshing malloc, and where both heaps live by SIGSEGV.</summary>
    [Theory]
    [MemberData(nameof(Verbs))]
    public void BothHeapsWorkInOneProcess(string verb, string barrier, string protection)
    {
        var settings = new Dictionary<string, string> { ["FREEHOLD_MESH_BARRIER"] = barrier, ["FREEHOLD_PROTECTION"] = protection };
        Outcome outcome = Publisher.NativeHeap.Run(settings, s_limit, verb);
        Assert.True(outcome.ExitCode == 0 && outcome.Output == "ok\n", outcome.ToString());
    }

    [Theory]
    [InlineData("promote:2000")]
    [InlineData("promote:2000,preempt")]
    [InlineData("promote:5000,reclaim:3000")]
    public void BothHeapsWorkWhileEverythingMoves(string stress)
    {
        var settings = new Dictionary<string, string> { ["FREEHOLD_MESH_STRESS"] = "20", ["FREEHOLD_STRESS"] = stress };
        foreach (string verb in new[] { "beside", "processes" })
        {
            Outcome outcome = Publisher.NativeHeap.Run(settings, s_limit, verb);
            Assert.True(outcome.ExitCode == 0 && outcome.Output == "ok\n", outcome.ToString());
        }
    }

    [Fact]
    public void TheFiguresArePrintedWhenTheProgramEnds()
    {
        Outcome outcome = Publisher.NativeHeap.Run(new Dictionary<string, string> { ["FREEHOLD_MESH_STATS"] = "1" }, s_limit, "sparse");
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
        Assert.Matches("\"meshes\":[1-9]", outcome.Error);
    }

    [Fact]
    public void AnUnknownSettingOfTheMallocEndsTheProgram()
    {
        Outcome outcome = Publisher.NativeHeap.Run(new Dictionary<string, string> { ["FREEHOLD_MESH_NONE"] = "1" }, s_limit, "statistics");
        Assert.NotEqual(0, outcome.ExitCode);
        Assert.Contains("FREEHOLD_MESH_NONE", outcome.Error);
    }

    // What touches the C library most, and one case in ten of the others.
    public static TheoryData<string> Cases()
    {
        string[] all = Publisher.ContractMesh.Run(null, s_limit, "list").Output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
        return [.. ContractTests.Ordinary(all).Where(name => !name.StartsWith("out-of-", StringComparison.Ordinal)).Where((name, i) => i % 10 == 0 || name.StartsWith("outside-", StringComparison.Ordinal) || name.Contains("native", StringComparison.Ordinal))];
    }

    [Theory]
    [MemberData(nameof(Cases))]
    public void TheContractIsKept(string name)
    {
        Outcome outcome = Publisher.ContractMesh.Run(s_meshing, s_limit, "run", name);
        Assert.True(outcome.ExitCode == 0, outcome.ToString());
    }

    public static TheoryData<string> Programs() => [.. Repository.Programs];

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStock(string program) => s_comparison.AssertSame(program, Publisher.DifferentialMesh, s_meshing);
}
