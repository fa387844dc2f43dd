using System;
using System.IO;
using Freehold.Rewriter;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Compiler.Tests;

/// <summary>The framework of the main version.</summary>
public sealed class MainFramework() : RewrittenFramework(OfficialFramework.Versions[0]);

/// <summary>The framework of the other version.</summary>
public sealed class OtherFramework() : RewrittenFramework(OfficialFramework.Versions[1]);

/// <summary>The official framework of a version, rewritten once for all tests.</summary>
public abstract class RewrittenFramework : IDisposable
{
    private readonly string _root = Directory.CreateTempSubdirectory("freehold-rewriter").FullName;

    /// <summary>Runs the tool as the toolchain does.</summary>
    protected RewrittenFramework(string version)
    {
        Official = new OfficialFramework(version);
        Output = Path.Combine(_root, "out");
        StatisticsFile = Path.Combine(_root, "statistics.json");
        ExitCode = Program.Main(["--sdk", Official.Sdk, "--framework", Official.Assemblies, "--names", Official.Names, "--output", Output, "--statistics", StatisticsFile]);
        CoreLib = ModuleDefinition.ReadModule(
            Path.Combine(Output, "sdk", "System.Private.CoreLib.dll"),
            new ReaderParameters { ReadSymbols = true, SymbolReaderProvider = new PortablePdbReaderProvider() });
    }

    /// <summary>What was rewritten.</summary>
    public OfficialFramework Official { get; }

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
