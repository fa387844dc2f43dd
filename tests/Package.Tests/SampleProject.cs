using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Text;

namespace Freehold.Package.Tests;

/// <summary>A project as a user writes it: a target framework, PublishAot, one package reference.</summary>
public sealed class SampleProject
{
    /// <summary>What the program prints: which heap it has, a sum, and the stack of an exception.</summary>
    public const string DefaultSource = """
        using System;
        using System.Collections.Generic;
        using System.Linq;
        using System.Runtime.CompilerServices;

        var numbers = new Dictionary<string, int>();
        for (int i = 0; i < 10000; i++) numbers["key " + i] = i;
        Console.WriteLine($"manual: {Heap.IsManual}");
        Console.WriteLine($"sum: {numbers.Values.Sum(number => (long)number)}");
        Heap.Delete(numbers);
        Console.WriteLine($"unreachable: {Heap.FindUnreachable().Count > 0} {Heap.Reclaim() > 0}");
        try { Thrower.Throw(); } catch (InvalidOperationException exception) { Console.WriteLine(exception.StackTrace); }

        static class Thrower
        {
            [MethodImpl(MethodImplOptions.NoInlining)]
            public static void Throw()
            {
                GC.KeepAlive(null);
                throw new InvalidOperationException();
            }
        }
        """;

    /// <summary>The line of <see cref="DefaultSource"/> that throws, from 1.</summary>
    public static readonly int ThrowLine = 1 + Array.FindIndex(DefaultSource.Split('\n'), line => line.Contains("throw new", StringComparison.Ordinal));

    private readonly PackageFixture _machine;
    private readonly Dictionary<string, string?> _environment;

    /// <summary>Writes the project into a new folder.</summary>
    /// <param name="machine">Whose folders it uses.</param>
    /// <param name="properties">More XML for its property group.</param>
    /// <param name="items">More XML for its item group.</param>
    /// <param name="source">Its program.</param>
    /// <param name="folder">Begins the name of its folder.</param>
    /// <param name="framework">What it targets.</param>
    public SampleProject(PackageFixture machine, string properties = "", string items = "", string source = DefaultSource, string folder = "project", string framework = "net10.0")
    {
        _machine = machine;
        Framework = framework;
        _environment = new Dictionary<string, string?>
        {
            ["NUGET_PACKAGES"] = machine.Packages,
            ["XDG_CACHE_HOME"] = machine.Cache,

            // One request that fails is no failure of ours.
            ["NUGET_ENHANCED_MAX_NETWORK_TRY_COUNT"] = "10",
            ["NUGET_ENHANCED_NETWORK_RETRY_DELAY_MILLISECONDS"] = "2000",

            // The test host's own MSBuild variables would reach the publish.
            ["MSBuildSDKsPath"] = null,
            ["MSBUILD_EXE_PATH"] = null,
            ["MSBuildExtensionsPath"] = null,

            // Only .NET 10 may be installed; a published program does not care.
            ["DOTNET_ROLL_FORWARD"] = "Major",

            // No node may survive a test: it would keep files and hide a kill.
            ["MSBUILDDISABLENODEREUSE"] = "1",
        };
        Folder = Directory.CreateDirectory(Path.Combine(machine.Root, folder + " " + Guid.NewGuid().ToString("N")[..8])).FullName;
        File.WriteAllText(Path.Combine(Folder, "sample.csproj"), $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <OutputType>Exe</OutputType>
                <TargetFramework>{framework}</TargetFramework>
                <PublishAot>true</PublishAot>
                <Nullable>enable</Nullable>
                <RestoreAdditionalProjectSources>{PackageFixture.Feed}</RestoreAdditionalProjectSources>
                {properties}
              </PropertyGroup>
              <ItemGroup>
                <PackageReference Include="Freehold" Version="{PackageFixture.Version}" />
                {items}
              </ItemGroup>
            </Project>
            """);
        File.WriteAllText(Path.Combine(Folder, "sample.cs"), source);
    }

    /// <summary>What the project targets.</summary>
    public string Framework { get; }

    /// <summary>Where the project is.</summary>
    public string Folder { get; }

    /// <summary>The published executable.</summary>
    public string Executable => Path.Combine(Folder, $"bin/Release/{Framework}/linux-x64/publish/sample");

    /// <summary>Sets a variable for the builds and runs of this project.</summary>
    public void SetEnvironment(string name, string? value) => _environment[name] = value;

    /// <summary><c>dotnet publish -r linux-x64</c>.</summary>
    public CommandResult Publish(params IEnumerable<string> arguments) => Dotnet(["publish", "-r", "linux-x64", .. arguments]);

    /// <summary>Starts <c>dotnet publish -r linux-x64</c>, and does not wait for it.</summary>
    public (Process Process, StringBuilder Output) StartPublish(params IEnumerable<string> arguments) =>
        Command.Start(Folder, _environment, "dotnet", ["publish", "-r", "linux-x64", .. arguments]);

    /// <summary>Any command of dotnet.</summary>
    public CommandResult Dotnet(params IEnumerable<string> arguments) => Command.Run(Folder, _environment, "dotnet", arguments);

    /// <summary>Runs what was published.</summary>
    public CommandResult Run() => Command.Run(Folder, _environment, Executable);
}
