using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using Freehold.Rewriter.Escape;
using Xunit;
using Xunit.Abstractions;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>
/// Random programs with the deletions of the compiler, run beside a model that knows what is deleted: nothing that is may be read, written or left to others.
/// FREEHOLD_TEST_SEED=FIRST runs more, from that seed on, and FREEHOLD_TEST_PROGRAMS=COUNT so many.
/// </summary>
public sealed class RandomEscapeTests(ITestOutputHelper output)
{
    private const int Batch = 50;

    [Fact]
    public void Nothing_deleted_is_used()
    {
        (int first, int count) = Seeds();
        int deletions = 0, programs = 0;
        StringBuilder failures = new();
        for (int at = first; at < first + count; at += Batch)
        {
            int[] seeds = [.. Enumerable.Range(at, Math.Min(Batch, first + count - at))];
            foreach ((int seed, string? failure, int deleted) in Run(seeds, null))
            {
                deletions += deleted;
                programs += deleted > 0 ? 1 : 0;
                if (failure is not null)
                {
                    output.WriteLine($"seed {seed}: {failure}");
                    string smaller = failures.Length == 0 ? Smaller(seed, Optimizes(at)) : "";
                    failures.AppendLine(CultureInfo.InvariantCulture, $"seed {seed}: {failure}").AppendLine(smaller);
                }
            }
        }

        output.WriteLine($"{count} programs, of which {programs} delete; {deletions} deletions");
        Assert.Equal("", failures.ToString());
        Assert.True(programs > count / 2, $"only {programs} of {count} programs delete something");
    }

    /// <summary>For each rule of the analysis, the first seed of a few programs of which one shows that the rule is missing.</summary>
    public static TheoryData<EscapeRule, int> Caught => new()
    {
        { EscapeRule.Statics, 0 },
        { EscapeRule.Returns, 0 },
        { EscapeRule.ReturnedContents, 10 },
        { EscapeRule.StoresIntoArguments, 0 },
        { EscapeRule.UnknownCode, 0 },
        { EscapeRule.DelegateTargets, 0 },
        { EscapeRule.Finalizers, 0 },
        { EscapeRule.ContentsEscape, 0 },
        { EscapeRule.SharedResults, 20 },
        { EscapeRule.MarkedTexts, 30 },
        { EscapeRule.Numbers, 20 },
        { EscapeRule.Stores, 0 },
        { EscapeRule.Handlers, 0 },
        { EscapeRule.StackValues, 0 },
    };

    /// <summary>Rules whose absence these programs have not shown; <see cref="EscapeTests"/> has a method for each.</summary>
    private static readonly Dictionary<EscapeRule, string> s_notCaught = new()
    {
        [EscapeRule.PartsWithFinalizers] = "only types of the framework have parts with finalizers",
        [EscapeRule.TailCalls] = "a recursion that takes too much stack has no wrong deletion",
        [EscapeRule.Throws] = NotYet,
        [EscapeRule.VirtualCalls] = NotYet,
        [EscapeRule.NewInStructures] = NotYet,
        [EscapeRule.StoresOther] = NotYet,
        [EscapeRule.FreshHoldsOther] = NotYet,
        [EscapeRule.Relinks] = NotYet,
        [EscapeRule.FreshBelow] = NotYet,
        [EscapeRule.FreshParts] = NotYet,
        [EscapeRule.OtherResults] = NotYet,
        [EscapeRule.Loops] = "without it an object may be lost to reclaim, and none is deleted early",
    };

    private const string NotYet = "not in the first forty programs";
    private const int Few = 10;
    private static readonly Dictionary<int, byte[]> s_compiled = [];

    [Theory]
    [MemberData(nameof(Caught))]
    public void Without_a_rule_something_deleted_is_used(EscapeRule rule, int first) =>
        Assert.Contains(Run([.. Enumerable.Range(first, Few)], rule), run => run.Failure is not null);

    [Fact]
    public void Each_rule_is_caught_or_has_a_reason() =>
        Assert.Equal(Enum.GetValues<EscapeRule>().Order(), Caught.Select(row => (EscapeRule)row[0]).Concat(s_notCaught.Keys).Order());

    internal static IReadOnlyList<string> Framework => [EscapeTests.World.Sdk];

    internal static IEnumerable<(int Seed, string? Failure, int Deletions)> Run(int[] seeds, EscapeRule? without)
    {
        if (without is null || !s_compiled.TryGetValue(seeds[0], out byte[]? image))
        {
            image = CheckedAssembly.Compile(string.Concat(seeds.Select(ProgramText.Of)), Optimizes(seeds[0]), out string errors) ?? throw new InvalidOperationException(errors);
            if (without is not null)
            {
                s_compiled[seeds[0]] = image;
            }
        }

        using CheckedAssembly assembly = CheckedAssembly.Load(image, Framework, without);
        foreach (int seed in seeds)
        {
            (string? failure, int deletions) = assembly.Run($"Program{seed}", 6);
            yield return (seed, failure, deletions);
        }
    }

    // Alone, as the text of an error: it may need its neighbours, whose classes answer the same calls of the framework.
    private static string Smaller(int seed, bool optimize)
    {
        string text = ProgramText.Of(seed);
        return Fails(text) ? ProgramReducer.Reduce(text, Fails) : "It does not fail alone.";

        bool Fails(string program)
        {
            if (CheckedAssembly.Compile(program, optimize, out _) is not { } image)
            {
                return false;
            }

            using CheckedAssembly assembly = CheckedAssembly.Load(image, Framework, null);
            return assembly.Run($"Program{seed}", 30).Failure is not null;
        }
    }

    // Both forms that the C# compiler has, by the seed.
    private static bool Optimizes(int seed) => seed / Batch % 4 != 0;

    private static (int First, int Count) Seeds() =>
        Setting("FREEHOLD_TEST_SEED") is { } first ? (first, Setting("FREEHOLD_TEST_PROGRAMS") ?? 2000) : (0, 100);

    private static int? Setting(string name) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? int.Parse(value, CultureInfo.InvariantCulture) : null;
}
