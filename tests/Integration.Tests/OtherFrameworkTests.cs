namespace Freehold.Integration.Tests;

/// <summary>
/// The same on the older target framework, whose runtime has other layouts, another JIT and other names in CoreLib: a part of each suite, by which all that differs is met.
/// `./build.sh stress --all` runs the rest, tests/Ecosystem too: to publish that twice more takes minutes.
/// </summary>
public sealed class OtherFrameworkTests
{
    private static readonly TimeSpan s_limit = TimeSpan.FromMinutes(8);
    private static readonly Comparison s_differential = new(() => Get("Differential", freehold: false), Repository.Programs, s_limit);

    private static readonly Lazy<string[]> s_cases = new(() =>
        Get("Contract", freehold: true).Run(null, s_limit, "list").Output.Split('\n', StringSplitOptions.RemoveEmptyEntries));

    // One case in eight; and what is about the parts that know the version.
    private static readonly string[] s_always = ["jit-", "throw-", "pin-handle", "moving-sites"];

    public static TheoryData<string> Cases() => [.. ContractTests.Ordinary(s_cases.Value).Where((name, i) => i % 8 == 1 || s_always.Any(name.StartsWith))];

    public static TheoryData<string> SomeCases(int remainder) => [.. ContractTests.Ordinary(s_cases.Value).Where((_, i) => i % 64 == remainder)];

    public static TheoryData<string> Programs() => [.. Repository.Programs.Where((_, i) => i % 8 == 3)];

    [Theory]
    [MemberData(nameof(Cases))]
    public void Kept(string name) => Passes(Settings.None, "run", name);

    [Theory]
    [MemberData(nameof(SomeCases), 9)]
    public void KeptWithVerify(string name) => Passes(Settings.Verify, "run", name);

    [Theory]
    [MemberData(nameof(SomeCases), 17)]
    public void KeptWhileEverythingMoves(string name) => Passes(Settings.Moving, "run", name);

    [Theory]
    [MemberData(nameof(SomeCases), 25)]
    public void KeptWhileEveryStaleReferenceFaults(string name) => Passes(Settings.Faulting, "run", name);

    [Theory]
    [MemberData(nameof(SomeCases), 33)]
    public void KeptWhileReferencesAreMadeCurrent(string name) => Passes(Settings.Remapping, "run", name);

    [Theory]
    [InlineData("model", "3", "3000", "4")]
    [InlineData("model-collections", "6", "10000", "4")]
    public void TheModelsAgree(params string[] arguments)
    {
        foreach (IReadOnlyDictionary<string, string> settings in new[] { Settings.None, Settings.Debug, Settings.Moving, Settings.Reclaiming })
            Passes(settings, ["run", .. arguments]);
    }

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStock(string program) => s_differential.AssertSame(program, Get("Differential", freehold: true), Settings.None);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileEverythingMoves(string program) => s_differential.AssertSame(program, Get("Differential", freehold: true), Settings.Moving);

    private static Executable Get(string project, bool freehold) => Publisher.Get(project, freehold, framework: Publisher.OtherFramework);

    private static void Passes(IReadOnlyDictionary<string, string> settings, params IEnumerable<string> arguments)
    {
        Outcome outcome = Get("Contract", freehold: true).Run(settings, s_limit, arguments);
        Assert.True(outcome.ExitCode == 0 && outcome.Output.EndsWith("ok\n", StringComparison.Ordinal), string.Join(' ', arguments) + ": " + outcome);
    }
}
