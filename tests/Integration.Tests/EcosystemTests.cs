namespace Freehold.Integration.Tests;

/// <summary>ASP.NET Core and well-known packages do on Freehold what they do on the stock runtime, wherever objects are meanwhile.</summary>
public sealed class EcosystemTests
{
    private static readonly Comparison s_comparison = new(() => Publisher.EcosystemStock, Repository.EcosystemPrograms, TimeSpan.FromMinutes(8));

    private static readonly Dictionary<string, IReadOnlyDictionary<string, string>> s_settings = new()
    {
        [nameof(Settings.None)] = Settings.None,
        [nameof(Settings.Verify)] = Settings.Verify,
        [nameof(Settings.Debug)] = Settings.Debug,
        [nameof(Settings.Moving)] = Settings.Moving,
        [nameof(Settings.Faulting)] = Settings.Faulting,
        [nameof(Settings.FaultingAtSites)] = Settings.FaultingAtSites,
        [nameof(Settings.Remapping)] = Settings.Remapping,
        [nameof(Settings.Reusing)] = Settings.Reusing,
        [nameof(Settings.Reclaiming)] = Settings.Reclaiming,
        [nameof(Settings.MovingAtDeletions)] = Settings.MovingAtDeletions,
    };

    // Every program as it is, and under every second setting: `./build.sh stress --all` has all of them.
    public static TheoryData<string, string> ProgramsUnderSettings()
    {
        var all = new TheoryData<string, string>();
        foreach ((int i, string settings) in s_settings.Keys.Index())
        {
            foreach ((int k, string program) in Repository.EcosystemPrograms.Index())
            {
                if (settings == nameof(Settings.None) || (i + k) % 2 == 0)
                    all.Add(settings, program);
            }
        }
        return all;
    }

    [Theory]
    [MemberData(nameof(ProgramsUnderSettings))]
    public void SameAsStock(string settings, string program) => s_comparison.AssertSame(program, Publisher.EcosystemFreehold, s_settings[settings]);

    [Fact]
    public void TheExecutablesAreThoseThatAreMeant()
    {
        Assert.True(Repository.EcosystemPrograms.Count >= 14);
        s_comparison.AssertExecutables(Publisher.EcosystemFreehold);
    }
}
