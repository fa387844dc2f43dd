using System.Diagnostics;
using System.Reflection;
using Freehold.Tests;
using Xunit;

namespace Freehold.Maps.Tests;

/// <summary>For the main target framework.</summary>
public sealed class PublishedProgramsOfMain() : PublishedPrograms(RuntimeVersions[0]);

/// <summary>For the other one.</summary>
public sealed class PublishedProgramsOfOther() : PublishedPrograms(RuntimeVersions[1]);

/// <summary>
/// One small program, published twice with the official compiler of a version: stock, and through the JIT hook. The hook is the one that
/// FREEHOLD_JIT_HOOK names, else it is built here from its sources, so that no stale copy is tested.
/// </summary>
public abstract class PublishedPrograms : IDisposable
{
    private const string Source = """
        using System;
        using System.Collections.Generic;
        using System.Linq;
        Dictionary<string, int> map = [];
        for (int i = 0; i < 1000; i++) { map["k" + i] = i; }
        try { object o = null!; o.ToString(); }
        catch (NullReferenceException e) { Console.WriteLine(e.GetType().Name); }
        finally { Console.WriteLine(map.Values.Where(v => v % 2 == 0).Sum()); }
        Console.WriteLine(Node.Walk(new Node { Next = new Node { Value = 41 }, Value = 1 }));
        class Node
        {
            public Node? Next;
            public int Value;
            [System.Runtime.CompilerServices.MethodImpl(System.Runtime.CompilerServices.MethodImplOptions.NoInlining)]
            public static int Walk(Node node) => node.Next is null ? node.Value : node.Value + Walk(node.Next);
        }
        """;

    private readonly string _version;
    private readonly string _folder = Directory.CreateTempSubdirectory("freehold-maps-").FullName;

    protected PublishedPrograms(string version)
    {
        _version = version;
        Hook = Environment.GetEnvironmentVariable("FREEHOLD_JIT_HOOK") is { Length: > 0 } given ? given : BuildHook();
        Stock = Publish("stock", "");
        Hooked = Publish("hooked", $"""
            <IlcArg Include="--jitpath:{Hook}" />
            <IlcArg Include="--codegenopt:JitDisasm=*" />
            <IlcArg Include="--codegenopt:JitStdOutFile={Disassembly}" />
            <IlcArg Include="--parallelism:1" />
            """);
    }

    /// <summary>The versions of ILCompiler that are supported, the main one first.</summary>
    public static string[] RuntimeVersions => Metadata("RuntimeVersions").Split(';');

    public string Hook { get; }

    public string Stock { get; }

    public string Hooked { get; }

    /// <summary>What the patched JIT said about each method.</summary>
    public string Disassembly => Path.Combine(_folder, "jit.txt");

    public string TempFile(string name) => Path.Combine(_folder, name);

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    public static (int Code, string Output) Execute(string file, string arguments, params (string Name, string Value)[] environment)
    {
        ProcessStartInfo start = new(file, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
        foreach ((string name, string value) in environment)
        {
            start.Environment[name] = value;
        }

        // The test host's MSBuild settings must not leak into the builds it starts.
        foreach (string name in start.Environment.Keys.Where(k => k.StartsWith("MSBUILD", StringComparison.OrdinalIgnoreCase)).ToList())
        {
            start.Environment.Remove(name);
        }

        using Process process = Process.Start(start)!;
        Task<string> error = process.StandardError.ReadToEndAsync();
        Task<string> said = process.StandardOutput.ReadToEndAsync();
        string? killed = ProcessWatch.WaitForExit(process, TimeSpan.FromMinutes(30), () => 0);
        return killed is null ? (process.ExitCode, said.Result + error.Result) : throw new TimeoutException($"{file} {arguments}: {killed}");
    }

    public (int Code, string Output) TryPublish(string name, string ilcArguments, params (string Name, string Value)[] environment)
    {
        string folder = Path.Combine(_folder, name);
        Directory.CreateDirectory(folder);
        File.WriteAllText(Path.Combine(folder, "Program.cs"), Source);
        File.WriteAllText(Path.Combine(folder, "program.csproj"), $"""
            <Project Sdk="Microsoft.NET.Sdk">
              <PropertyGroup>
                <TargetFramework>net{_version.Split('.')[0]}.0</TargetFramework>
                <OutputType>Exe</OutputType>
                <Nullable>enable</Nullable>
                <PublishAot>true</PublishAot>
                <CppCompilerAndLinker>gcc</CppCompilerAndLinker>
              </PropertyGroup>
              <ItemGroup>
                <PackageReference Include="Microsoft.DotNet.ILCompiler" Version="{_version}" />
                <PackageReference Include="runtime.linux-x64.Microsoft.DotNet.ILCompiler" Version="{_version}" />
                {ilcArguments}
              </ItemGroup>
            </Project>
            """);
        return Execute("dotnet", $"publish \"{folder}/program.csproj\" -c Release -r linux-x64 -o \"{folder}/out\" --disable-build-servers", environment);
    }

    private static string Metadata(string key) =>
        typeof(PublishedPrograms).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>().Single(a => a.Key == key).Value!;

    private string Publish(string name, string ilcArguments)
    {
        (int code, string output) = TryPublish(name, ilcArguments);
        Assert.True(code == 0, output);
        return Path.Combine(_folder, name, "out", "program");
    }

    private string BuildHook()
    {
        string build = Path.Combine(_folder, "hook");
        (int code, string output) = Execute("cmake", $"-S \"{Path.GetFullPath(Metadata("JitHookSource"))}\" -B \"{build}\" -DCMAKE_BUILD_TYPE=Release -DFREEHOLD_JIT_TESTS=OFF");
        Assert.True(code == 0, output);
        (code, output) = Execute("cmake", $"--build \"{build}\" --target freehold_jit");
        Assert.True(code == 0, output);
        return Path.Combine(build, "libfreehold_jit.so");
    }
}
