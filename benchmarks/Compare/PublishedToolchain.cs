using System.Security;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains;
using BenchmarkDotNet.Toolchains.CsProj;
using BenchmarkDotNet.Toolchains.DotNetCli;

namespace Freehold.Compare;

/// <summary>
/// BenchmarkDotNet's way to a program for one heap: a project around its generated code, published as every user's is. Its own NativeAotToolchain takes
/// ILCompiler from a feed that it names itself, without the machine's NuGet sources.
/// </summary>
internal sealed class PublishedToolchain(Options options, Variant variant, string project)
    : Toolchain(
        variant.Heap,
        new ProjectGenerator(options, variant, project),
        new DotNetCliPublisher(extraArguments: string.Join(' ', ["-r linux-x64", .. variant.Properties])),
        new Executor())
{
    private sealed class ProjectGenerator(Options options, Variant variant, string project)
        : CsProjGenerator(variant.Framework, cliPath: null!, packagesPath: null!, runtimeFrameworkVersion: null!)
    {
        protected override string GetExecutableExtension() => "";

        // Inside the repository: its Directory.*.props apply.
        protected override string GetBuildArtifactsDirectoryPath(BuildPartition partition, string programName) =>
            Path.Combine(options.Output, "build", project, variant.Heap);

        protected override string GetBinariesDirectoryPath(string buildArtifactsDirectoryPath, string configuration) =>
            Path.Combine(buildArtifactsDirectoryPath, "bin", configuration, variant.Framework, "linux-x64", "publish");

        protected override void GenerateProject(BuildPartition partition, ArtifactsPaths paths, ILogger logger) =>
            File.WriteAllText(paths.ProjectFilePath, $"""
                <Project Sdk="Microsoft.NET.Sdk">
                  <Import Project="{Escape(options.Root)}/eng/Consume.props" />
                  <PropertyGroup>
                    <OutputType>Exe</OutputType>
                    <TargetFramework>{variant.Framework}</TargetFramework>
                    <AssemblyName>{Escape(paths.ProgramName)}</AssemblyName>
                    <EnableDefaultCompileItems>false</EnableDefaultCompileItems>
                    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
                    <PublishAot>true</PublishAot>
                    <InvariantGlobalization>true</InvariantGlobalization>
                    <OptimizationPreference>Speed</OptimizationPreference>
                  </PropertyGroup>
                  <ItemGroup>
                    <Compile Include="{Escape(paths.ProgramCodePath)}" />
                    <PackageReference Include="BenchmarkDotNet" />
                    <PackageReference Include="Freehold" />
                    <ProjectReference Include="{Escape(Path.Combine(options.Root, "benchmarks", project, project + ".csproj"))}" />
                  </ItemGroup>
                </Project>
                """);

        private static string Escape(string text) => SecurityElement.Escape(text);
    }
}
