namespace Freehold.Integration.Tests;

/// <summary>ASP.NET Core and well-known packages do on Freehold what they do on the stock runtime, wherever objects are meanwhile.</summary>
public sealed class EcosystemTests
{
    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(120);
    private static readonly Comparison s_comparison = new(() => Publisher.EcosystemStock, () => Publisher.EcosystemFreehold, s_timeout);

    public static TheoryData<string> Programs() => [.. Repository.EcosystemPrograms];

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStock(string program) => s_comparison.AssertSame(program, Settings.None);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWithVerify(string program) => s_comparison.AssertSame(program, Settings.Verify);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWithDebug(string program) => s_comparison.AssertSame(program, Settings.Debug);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileEverythingMoves(string program) => s_comparison.AssertSame(program, Settings.Moving);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileEveryStaleReferenceFaults(string program) => s_comparison.AssertSame(program, Settings.Faulting);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileEverySiteFaults(string program) => s_comparison.AssertSame(program, Settings.FaultingAtSites);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileReferencesAreMadeCurrent(string program) => s_comparison.AssertSame(program, Settings.Sweeping);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileAddressesAreUsedAgain(string program) => s_comparison.AssertSame(program, Settings.Reusing);

    [Theory]
    [MemberData(nameof(Programs))]
    public void SameAsStockWhileDeletionsMoveEverything(string program) => s_comparison.AssertSame(program, Settings.MovingAtDeletions);

    [Fact]
    public void TheSourceListsEveryProgram()
    {
        Outcome list = Publisher.EcosystemFreehold.Run(null, s_timeout, "list");
        Assert.Equal(Repository.EcosystemPrograms, list.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.True(Repository.EcosystemPrograms.Count >= 13);
    }

    [Fact]
    public void TheHeapIsTheOneThatIsMeant()
    {
        Assert.Equal("stock", Publisher.EcosystemStock.Run(null, s_timeout, "heap").Output.Trim());
        Assert.Equal("freehold", Publisher.EcosystemFreehold.Run(null, s_timeout, "heap").Output.Trim());
    }
}
