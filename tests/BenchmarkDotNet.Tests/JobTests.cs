using BenchmarkDotNet.Attributes;
using BenchmarkDotNet.Characteristics;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Environments;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Reports;
using BenchmarkDotNet.Running;

namespace Freehold.BenchmarkDotNet.Tests;

/// <summary>What the attributes make, and what they refuse. Nothing is published.</summary>
[Collection(nameof(Environment))]
public class JobTests
{
    [Theory]
    [InlineData(typeof(NoValue), "The job Freehold of NoValue: 'FREEHOLD_VERIFY' in its Environment is no 'NAME=value'.")]
    [InlineData(typeof(NoName), "'=1' in its Environment is no 'NAME=value'.")]
    [InlineData(typeof(Twice), "FREEHOLD_VERIFY stands twice in its Environment.")]
    [InlineData(typeof(OwnSetting), "FREEHOLD_DIAGNOSTICS stands in its Environment, and the job sets it itself.")]
    [InlineData(typeof(NoLaunch), "The job Stock of NoLaunch: launchCount is 0. Give it 1 or more, or leave it out.")]
    [InlineData(typeof(NoIteration), "iterationCount is -2.")]
    [InlineData(typeof(NoInvocation), "invocationCount is 0.")]
    [InlineData(typeof(NoWarmup), "warmupCount is -7. Give it 0 or more, or leave it out.")]
    public void WhatCannotBeIsAnErrorBeforeAnythingIsPublished(Type benchmarks, string expected)
    {
        Summary summary = BenchmarkRunner.Run(benchmarks, ManualConfig.CreateEmpty().WithArtifactsPath(Directory.CreateTempSubdirectory("freehold-benchmark-").FullName));

        Assert.Contains(summary.ValidationErrors, error => error.IsCritical && error.Message.Contains(expected, StringComparison.Ordinal));
        Assert.True(summary.HasCriticalValidationErrors);
        Assert.Empty(summary.Reports);
        Directory.Delete(Path.GetDirectoryName(summary.ResultsDirectoryPath)!, recursive: true);
    }

    [Fact]
    public void VariablesOfTheShellAreNamedAndStopNothing()
    {
        BenchmarkCase benchmark = CasesOf(typeof(Both)).Single(one => one.Job.Id == "Freehold");
        Environment.SetEnvironmentVariable("FREEHOLD_RECLAIM", "off");
        try
        {
            var error = Assert.Single(((HeapToolchain)benchmark.Job.Infrastructure.Toolchain).Validate(benchmark, null!));
            Assert.False(error.IsCritical);
            Assert.Contains("do not reach the benchmarks: FREEHOLD_RECLAIM.", error.Message);
        }
        finally
        {
            Environment.SetEnvironmentVariable("FREEHOLD_RECLAIM", null);
        }

        Assert.Empty(((HeapToolchain)benchmark.Job.Infrastructure.Toolchain).Validate(benchmark, null!));
    }

    [Fact]
    public void TheAttributesSayWhatTheJobsAre()
    {
        Job[] jobs = [.. CasesOf(typeof(All)).Select(benchmark => benchmark.Job).OrderBy(job => job.Id, StringComparer.Ordinal)];

        Assert.Equal(["Freehold", "Quiet", "Stock", "StockServer"], jobs.Select(job => job.Id));
        Job quiet = jobs[1];
        Assert.Equal(["A=b=c", "FREEHOLD_RECLAIM=off"], quiet.Environment.EnvironmentVariables.Select(variable => variable.ToString()).Order(StringComparer.Ordinal));
        Assert.Equal((2, 0, 7, 11L, 1), (quiet.Run.LaunchCount, quiet.Run.WarmupCount, quiet.Run.IterationCount, quiet.Run.InvocationCount, quiet.Run.UnrollFactor));
        Assert.Equal([false, false, false, true], jobs.Select(job => job.Environment.Gc.Server));
        Assert.Equal([false, false, true, false], jobs.Select(job => job.Meta.Baseline));
        Assert.All(jobs, job => Assert.False(job.Environment.Gc.Force));
    }

    /// <summary>A publish takes the longest: one for each heap, however many classes and settings there are.</summary>
    [Fact]
    public void ClassesAndSettingsShareTheirPublishes()
    {
        BuildPartition[] partitions = BenchmarkPartitioner.CreateForBuild(
            [BenchmarkConverter.TypeToBenchmarks(typeof(Both)), BenchmarkConverter.TypeToBenchmarks(typeof(All))], new CompositeResolver(EnvironmentResolver.Instance, InfrastructureResolver.Instance));

        Assert.Equal([["Freehold", "Freehold", "Quiet"], ["Stock", "Stock"], ["StockServer"]], partitions
            .Select(partition => partition.Benchmarks.Select(benchmark => benchmark.BenchmarkCase.Job.Id).Order(StringComparer.Ordinal).ToArray()).OrderBy(ids => ids[0], StringComparer.Ordinal));
    }

    [Theory]
    [InlineData(true, "linux-x64", true)]
    [InlineData(true, "debian.12-x64", true)]
    [InlineData(true, "linux-arm64", false)]
    [InlineData(true, "linux-musl-x64", false)]
    [InlineData(true, "alpine.3.22-x64", false)]
    [InlineData(false, "win-x64", false)]
    [InlineData(false, "osx-x64", false)]
    public void OtherMachinesAreRefusedByName(bool isLinux, string identifier, bool isSupported)
    {
        string? refusal = HeapPublisher.RefusalFor(isLinux, identifier);

        Assert.Equal(isSupported, refusal is null);
        Assert.Contains(isSupported ? "" : $"linux-x64 only, and this machine is {identifier}", refusal ?? "");
    }

    internal static IEnumerable<BenchmarkCase> CasesOf(Type benchmarks) => BenchmarkConverter.TypeToBenchmarks(benchmarks, ManualConfig.CreateEmpty()).BenchmarksCases;

    public abstract class Nothing
    {
        [Benchmark]
        public void Run()
        {
        }
    }

    [FreeholdJob(Environment = "FREEHOLD_RECLAIM=off;FREEHOLD_VERIFY")]
    public class NoValue : Nothing;

    [FreeholdJob(Environment = " =1 ")]
    public class NoName : Nothing;

    [FreeholdJob(Environment = "FREEHOLD_VERIFY=1; FREEHOLD_VERIFY = 0")]
    public class Twice : Nothing;

    [FreeholdJob(Environment = "FREEHOLD_DIAGNOSTICS=0")]
    public class OwnSetting : Nothing;

    [StockJob(launchCount: 0)]
    public class NoLaunch : Nothing;

    [StockJob(iterationCount: -2)]
    public class NoIteration : Nothing;

    [FreeholdJob(invocationCount: 0)]
    public class NoInvocation : Nothing;

    [FreeholdJob(warmupCount: -7)]
    public class NoWarmup : Nothing;

    [StockJob]
    [FreeholdJob]
    public class Both : Nothing;

    [StockJob(baseline: true)]
    [StockJob(server: true)]
    [FreeholdJob]
    [FreeholdJob(launchCount: 2, warmupCount: 0, iterationCount: 7, invocationCount: 11, Id = "Quiet", Environment = "FREEHOLD_RECLAIM = off; A=b=c;")]
    public class All : Nothing;
}
