using System;
using System.IO;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Compiler.Tests;

/// <summary>The official framework, rewritten once for all tests.</summary>
public sealed class RewrittenFramework : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-rewriter").FullName;

    /// <summary>Runs the tool as the toolchain does.</summary>
    public RewrittenFramework()
    {
        Output = Path.Combine(_root, "out");
        StatisticsFile = Path.Combine(_root, "statistics.json");
        ExitCode = Program.Main(["--sdk", Sdk, "--framework", Framework, "--output", Output, "--statistics", StatisticsFile]);
        CoreLib = ModuleDefinition.ReadModule(
            Path.Combine(Output, "sdk", "System.Private.CoreLib.dll"),
            new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new PortablePdbReaderProvider() });
    }

    /// <summary>The official System.Private.*.dll.</summary>
    public static string Sdk => Path.Combine(Golden.Metadata("RuntimePackage"), "sdk");

    /// <summary>The official framework assemblies.</summary>
    public static string Framework => Path.Combine(Golden.Metadata("RuntimePackage"), "framework");

    /// <summary>What the tool wrote.</summary>
    public string Output { get; }

    /// <summary>The tool's statistics.</summary>
    public string StatisticsFile { get; }

    /// <summary>The tool's exit code.</summary>
    public int ExitCode { get; }

    /// <summary>The rewritten CoreLib, with its symbols.</summary>
    public ModuleDefinition CoreLib { get; }

    /// <inheritdoc/>
    public void Dispose()
    {
        CoreLib.Dispose();
        Directory.Delete(_root, recursive: true);
    }
}
