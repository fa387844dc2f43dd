using System.Security;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.CsProj;

namespace Freehold.BenchmarkDotNet;

/// <summary>
/// A project around the code that BenchmarkDotNet generates, published as every user's is: it refers to the project of the benchmarks, through which the package Freehold comes. What differs between heaps
/// is written in it, and not on the command line, where the project of the benchmarks would have it too.
/// </summary>
internal sealed class HeapProjectGenerator(HeapKind heap, string framework) : CsProjGenerator(framework, cliPath: null!, packagesPath: null!, runtimeFrameworkVersion: null!)
{
    protected override string GetExecutableExtension() => "";

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
                <FreeholdEnabled>{(heap.IsFreehold ? "true" : "false")}</FreeholdEnabled>
                <!-- The diagnoser asks there. -->
                <FreeholdDiagnostics>{(heap.IsFreehold ? "true" : "")}</FreeholdDiagnostics>
                <!-- The project of the benchmarks is an executable, and both publish some files of the same names. -->
                <ValidateExecutableReferencesMatchSelfContained>false</ValidateExecutableReferencesMatchSelfContained>
                <ErrorOnDuplicatePublishOutputFiles>false</ErrorOnDuplicatePublishOutputFiles>
              </PropertyGroup>
              {GetRuntimeSettings(buildPartition.RepresentativeBenchmarkCase.Job.Environment.Gc, buildPartition.Resolver)}
              <ItemGroup>
                <Compile Include="{Escape(artifactsPaths.ProgramCodePath)}" />
                <ProjectReference Include="{Escape(project)}" />
              </ItemGroup>
              <!-- FreeholdSupported: a property of the package. Without the package, the program would be on the stock collector, with another compiler. -->
              <Target Name="FreeholdBenchmarksNeedThePackage" BeforeTargets="PrepareForBuild" Condition="'$(FreeholdSupported)' == ''">
                <Error Text="The package Freehold does not come with the reference to {Escape(Path.GetFileName(project))}. Its reference to Freehold.BenchmarkDotNet must not have PrivateAssets, ExcludeAssets or IncludeAssets." />
              </Target>
            </Project>
            """);
    }

    // For XML, and for MSBuild, to which these are more than themselves.
    private static string Escape(string text) =>
        SecurityElement.Escape(text.Replace("%", "%25", StringComparison.Ordinal).Replace(";", "%3B", StringComparison.Ordinal).Replace("$", "%24", StringComparison.Ordinal)
            .Replace("@", "%40", StringComparison.Ordinal).Replace("*", "%2A", StringComparison.Ordinal).Replace("?", "%3F", StringComparison.Ordinal));
}
