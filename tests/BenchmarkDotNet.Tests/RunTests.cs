using System.Diagnostics;
using BenchmarkDotNet.Characteristics;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Engines;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.Parameters;
using BenchmarkDotNet.Toolchains.Results;
using Freehold.Tool;
using Freehold.Tool.Protocol;
using DiagnoserMode = BenchmarkDotNet.Diagnosers.RunMode;

namespace Freehold.BenchmarkDotNet.Tests;

/// <summary>What happens around a run: the environment of the program, and the questions to it.</summary>
[Collection(nameof(Environment))]
public class RunTests
{
    private static readonly string[] s_names = ["AllocatedBytes", "DeletedBytes", "ReclaimedBytes", "RepairedFaults", "DanglingFaults"];

    /// <summary>A script in the program's place says which variables it has.</summary>
    [Fact]
    public void AProgramHasTheSettingsOfItsJobAndNotTheShells()
    {
        string folder = Directory.CreateTempSubdirectory("freehold-benchmark-").FullName;
        Environment.SetEnvironmentVariable("FREEHOLD_DEBUG", "1");
        try
        {
            string program = Path.Combine(folder, "program"), said = Path.Combine(folder, "said");
            File.WriteAllText(program, $"#!/bin/sh\nenv | grep ^FREEHOLD_ > '{said}'\n");
            File.SetUnixFileMode(program, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
            BenchmarkCase benchmark = JobTests.CasesOf(typeof(JobTests.All)).Single(one => one.Job.Id == "Quiet");
            var paths = new ArtifactsPaths(folder, folder, folder, folder, "", "", "", "", "", program, "program", "");

            new HeapExecutor().Execute(new ExecuteParameters(BuildResult.Success(GenerateResult.Success(paths, [])), benchmark, new BenchmarkId(0, benchmark), NullLogger.Instance,
                new CompositeResolver(EnvironmentResolver.Instance, InfrastructureResolver.Instance), launchIndex: 1));

            Assert.Equal("FREEHOLD_RECLAIM=off\n", File.ReadAllText(said));
            Assert.Equal("1", Environment.GetEnvironmentVariable("FREEHOLD_DEBUG"));
        }
        finally
        {
            Environment.SetEnvironmentVariable("FREEHOLD_DEBUG", null);
            Directory.Delete(folder, recursive: true);
        }
    }

    [Fact]
    public void ProgramsOfTheStockCollectorAreNotAsked()
    {
        var diagnoser = new FreeholdDiagnoser();

        Assert.Equal([("Freehold", DiagnoserMode.NoOverhead), ("Stock", DiagnoserMode.None)],
            JobTests.CasesOf(typeof(JobTests.Both)).Select(benchmark => (benchmark.Job.Id, diagnoser.GetRunMode(benchmark))).OrderBy(one => one.Id, StringComparer.Ordinal));
    }

    /// <summary>This process is on the stock collector, and nobody answers for it.</summary>
    [Fact]
    public void AProgramThatDoesNotAnswerHasNoFiguresAndTheReasonIsSaid()
    {
        BenchmarkCase benchmark = JobTests.CasesOf(typeof(JobTests.Both)).Single(one => one.Job.Id == "Freehold");
        using var process = Process.GetCurrentProcess();
        var diagnoser = new FreeholdDiagnoser();
        var logger = new AccumulationLogger();

        diagnoser.Handle(HostSignal.BeforeActualRun, new DiagnoserActionParameters(process, benchmark, new BenchmarkId(0, benchmark)));
        diagnoser.Handle(HostSignal.AfterActualRun, new DiagnoserActionParameters(process, benchmark, new BenchmarkId(0, benchmark)));
        diagnoser.DisplayResults(logger);

        Assert.Contains("FreeholdDiagnoser has no figures of Both.Run: Freehold", logger.GetLog());
        Assert.Contains($"process {process.Id} has no diagnostics socket", logger.GetLog());
        Assert.Empty(diagnoser.ProcessResults(new DiagnoserResults(benchmark, Results(operations: 10), null!)));
    }

    [Theory]
    [InlineData("AllocatedBytes")]
    [InlineData("DeletedBytes")]
    [InlineData("ReclaimedBytes")]
    [InlineData("RepairedFaults")]
    [InlineData("DanglingFaults")]
    public void AMissingFigureIsNamed(string missing)
    {
        ToolException exception = Assert.Throws<ToolException>(() => new HeapFigures([.. s_names.Where(name => name != missing).Select(name => new Figure(name, "bytes", true, 1))]));

        Assert.StartsWith($"the process has no figure {missing}", exception.Message);
    }

    [Fact]
    public void WhatTheColumnsSayComesFromTheFigures()
    {
        BenchmarkCase benchmark = JobTests.CasesOf(typeof(JobTests.Both)).Single(one => one.Job.Id == "Freehold");
        var diagnoser = new FreeholdDiagnoser();

        diagnoser.Take(benchmark, before: Figures(1_000, 500, 100, 1, 2, 70), after: Figures(11_000, 8_500, 1_100, 4, 4, 90));
        Metric[] metrics = [.. diagnoser.ProcessResults(new DiagnoserResults(benchmark, Results(operations: 100), null!))];

        // Each operation: 100 bytes allocated, 80 of them gone, of which the heap found 10.
        Assert.Equal([100, 70, 10, 20, 5, 90], metrics.Select(metric => metric.Value));
        Assert.Equal(["FreeholdAllocated", "FreeholdDeleted", "FreeholdReclaimed", "FreeholdLeft", "FreeholdFaults", "FreeholdLongestStall"], metrics.Select(metric => metric.Descriptor.Id));
        Assert.Equal("ns", metrics[^1].Descriptor.Unit);
    }

    private static HeapFigures Figures(long allocated, long deleted, long reclaimed, long repaired, long dangling, long longest) => new(
    [
        new("AllocatedBytes", "bytes", true, allocated), new("DeletedBytes", "bytes", true, deleted), new("ReclaimedBytes", "bytes", true, reclaimed),
        new("RepairedFaults", "count", true, repaired), new("DanglingFaults", "count", true, dangling),
        // Not the longest of them: another unit, a sum, another thing.
        new("LongestPinStop", "nanoseconds", false, longest - 1), new("LongestScopeStop", "nanoseconds", false, longest), new("LongestName", "count", false, 1_000),
        new("LongestOfAll", "nanoseconds", true, 1_000), new("ReclaimTime", "nanoseconds", false, 1_000),
    ]);

    // As the program says them: one iteration of the warm-up, which does not count, and one that was measured.
    private static ExecuteResult Results(int operations) => new(true, 0, 1,
        [$"WorkloadWarmup   1: {operations * 3} op, 10.00 ns, 1.0000 ns/op", $"WorkloadActual   1: {operations} op, 10.00 ns, 1.0000 ns/op"], [], [], 1);
}
