using System.Security;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.CsProj;
using BenchmarkDotNet.Toolchains.DotNetCli;

namespace Freehold.BenchmarkDotNet;

/// <summary>
/// A project around the code that BenchmarkDotNet generates, published as every user's is: it refers to the project of the benchmarks, through which the package Freehold comes. BenchmarkDotNet's own
/// NativeAotToolchain names a version of ILCompiler itself, and Freehold is made for one.
/// </summary>
internal sealed class HeapToolchain(HeapKind heap, string framework)
    : Toolchain($"{heap.Name} {framework}", new ProjectGenerator(heap, framework), new DotNetCliPublisher(extraArguments: "-r linux-x64 " + heap.Properties), new Executor())
{
    /// <summary>Whether the program can be asked what its heap did.</summary>
    public bool IsFreehold { get; } = heap.IsFreehold;

    private sealed class ProjectGenerator(HeapKind heap, string framework) : CsProjGenerator(framework, cliPath: null!, packagesPath: null!, runtimeFrameworkVersion: null!)
    {
        protected override string GetExecutableExtension() => "";

        // A folder for each heap: they are published at the same time.
        protected override string GetBuildArtifactsDirectoryPath(BuildPartition buildPartition, string programName) =>
            base.GetBuildArtifactsDirectoryPath(buildPartition, $"{programName}-{heap.Name}");

        protected override string GetBinariesDirectoryPath(string buildArtifactsDirectoryPath, string configuration) =>
            Path.Combine(buildArtifactsDirectoryPath, "bin", configuration, TargetFrameworkMoniker, "linux-x64", "publish");

        protected override void GenerateProject(BuildPartition buildPartition, ArtifactsPaths artifactsPaths, ILogger logger)
        {
            string project = GetProjectFilePath(buildPartition.RepresentativeBenchmarkCase.Descriptor.Type, logger).FullName;
            File.WriteAllText(artifactsPaths.ProjectFilePath, $"""
                <Project Sdk="Microsoft.NET.Sdk">
                  <PropertyGroup>
                    <OutputType>Exe</OutputType>
                    <TargetFramework>{TargetFrameworkMoniker}</TargetFramework>
                    <RuntimeIdentifier>linux-x64</RuntimeIdentifier>
                    <AssemblyName>{Escape(artifactsPaths.ProgramName)}</AssemblyName>
                    <EnableDefaultCompileItems>false</EnableDefaultCompileItems>
                    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
                    <PublishAot>true</PublishAot>
                    <InvariantGlobalization>true</InvariantGlobalization>
                    <OptimizationPreference>Speed</OptimizationPreference>
                    <TreatWarningsAsErrors>false</TreatWarningsAsErrors>
                    <RunAnalyzers>false</RunAnalyzers>
                    <!-- The project of the benchmarks is an executable, and both publish some files of the same names. -->
                    <ValidateExecutableReferencesMatchSelfContained>false</ValidateExecutableReferencesMatchSelfContained>
                    <ErrorOnDuplicatePublishOutputFiles>false</ErrorOnDuplicatePublishOutputFiles>
                  </PropertyGroup>
                  <ItemGroup>
                    <Compile Include="{Escape(artifactsPaths.ProgramCodePath)}" />
                    <ProjectReference Include="{Escape(project)}" />
                  </ItemGroup>
                </Project>
                """);
        }

        private static string Escape(string text) => SecurityElement.Escape(text);
    }
}
