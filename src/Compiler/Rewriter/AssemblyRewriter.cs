using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using Freehold.Rewriter.Analysis;
using Mono.Cecil;
using Mono.Cecil.Cil;

namespace Freehold.Rewriter;

/// <summary>Runs the passes over assemblies and writes the results with symbols that match.</summary>
public sealed class AssemblyRewriter : IDisposable
{
    // COMIMAGE_FLAGS_IL_LIBRARY (corhdr.h), which Cecil has no name for: set in ReadyToRun images, whose flag of ILOnly is clear.
    private const ModuleAttributes ReadyToRun = (ModuleAttributes)0x4;

    /// <summary>Behind an assembly's name: the file with what is to be said of it, one place a line. It does not exist when there is nothing to say.</summary>
    public const string WarningsExtension = ".warnings";

    private readonly DefaultAssemblyResolver _resolver = new();
    private readonly FrameworkNames? _names;
    private readonly IReadOnlyList<IRewritePass> _passes;
    private readonly Dictionary<IRewritePass, PassStatistics> _statistics;

    /// <summary>A rewriter that resolves references in these folders; <paramref name="names"/> are those of the framework's version, if CoreLib is to be rewritten.</summary>
    public AssemblyRewriter(IEnumerable<string> referenceDirectories, FrameworkNames? names = null, IReadOnlyList<IRewritePass>? passes = null)
    {
        _names = names;
        _passes = passes ?? PassManifest.Passes;
        _statistics = _passes.ToDictionary(pass => pass, pass => new PassStatistics(pass.Name));
        foreach (string directory in _resolver.GetSearchDirectories())
        {
            // Cecil looks into the current folder by itself; the result must not depend on it.
            _resolver.RemoveSearchDirectory(directory);
        }

        foreach (string directory in referenceDirectories)
        {
            _resolver.AddSearchDirectory(directory);
        }
    }

    /// <summary>Adds deletions to applications, if it is there.</summary>
    public Escape.AutoDeletion? Deletion { get; init; }

    /// <summary>What the passes did so far.</summary>
    public IEnumerable<PassStatistics> Statistics => _passes.Select(pass => _statistics[pass]);

    /// <summary>Writes <paramref name="output"/> from <paramref name="input"/>: rewritten, or copied byte for byte when no pass changed anything.</summary>
    /// <returns>Whether it was rewritten.</returns>
    public bool Rewrite(string input, string output, AssemblyRole role)
    {
        if (Deletion is null && !NeedsRewriting(input, role))
        {
            Copy(input, output);
            return false;
        }

        using ModuleDefinition module = ReadWithSymbols(input) ?? Read(input, new ReaderParameters { AssemblyResolver = _resolver });
        AssemblyUnderRewrite assembly = new(module, role, _names);
        // First: the analysis has seen the code as it is now.
        bool changed = role == AssemblyRole.Application && Deletion is not null && Deletion.Run(module, input);
        foreach (IRewritePass pass in _passes.Where(pass => pass.AppliesTo(role)))
        {
            changed |= pass.Run(assembly, _statistics[pass]);
        }

        WriteWarnings(assembly.Warnings, output + WarningsExtension);
        if (!changed)
        {
            Copy(input, output);
            return false;
        }

        Write(module, output);
        return true;
    }

    /// <inheritdoc/>
    public void Dispose() => _resolver.Dispose();

    /// <summary>Cheap look without symbols: a third of the framework's assemblies only forward types, and copying is 20 times faster.</summary>
    private bool NeedsRewriting(string input, AssemblyRole role)
    {
        if (role == AssemblyRole.CoreLib)
        {
            return true;
        }

        using ModuleDefinition module = Read(input, new ReaderParameters { AssemblyResolver = _resolver });
        return Passes.OwnedParts.Concerns(module, role) || Passes.OutgrownArrays.Concerns(module, role) || Passes.SharedObjects.Concerns(module, role) || module.GetTypes().SelectMany(type => type.Methods).Any(method =>
            (method.HasBody && (method.Body.Variables.Any(variable => variable.IsPinned) || IdentitySites.MayHaveSites(method) || NumberSites.MayHaveSites(method)))
            || Passes.NativeCallPins.Concerns(method, role) || Passes.NativeDelegatePins.Concerns(method));
    }

    // The framework is signed in public only and the application is loaded by no runtime: the strong name is left as it is.
    private static void Write(ModuleDefinition module, string output)
    {
        if ((module.Attributes & ReadyToRun) != 0)
        {
            // What was compiled ahead (ASP.NET Core's runtime pack) is left out: ilc compiles the IL, for which any machine does.
            module.Attributes = (module.Attributes & ~ReadyToRun) | ModuleAttributes.ILOnly;
            module.Architecture = TargetArchitecture.I386;
            module.Characteristics |= ModuleCharacteristics.NoSEH;
        }
        else if ((module.Attributes & ModuleAttributes.ILOnly) == 0)
        {
            throw new RewriteException($"{module.Name}: holds native code beside its IL (C++/CLI), which NativeAOT does not compile. Remove the reference to it.");
        }

        WriterParameters writing = new()
        {
            DeterministicMvid = true,
            Timestamp = 0,
            WriteSymbols = module.HasSymbols,
            SymbolWriterProvider = module.SymbolReader?.GetWriterProvider(),
        };

        // Cecil puts the path of a symbol file into the assembly; for a stream it takes the assembly's name, the same on every machine.
        using MemoryStream? symbols = module.SymbolReader is PortablePdbReader ? new MemoryStream() : null;
        writing.SymbolStream = symbols;
        module.Write(output, writing);
        VariableArgumentCalls.Restore(module, output);
        if (symbols is not null)
        {
            File.WriteAllBytes(Path.ChangeExtension(output, ".pdb"), symbols.ToArray());
        }
    }

    private static void WriteWarnings(IReadOnlyCollection<string> warnings, string path)
    {
        if (warnings.Count > 0)
        {
            File.WriteAllLines(path, warnings);
        }
    }

    /// <summary>Null when there is a symbol file and it cannot be read: that is no reason not to publish. One of another build counts as none.</summary>
    private ModuleDefinition? ReadWithSymbols(string path)
    {
        ModuleDefinition? module = null;
        try
        {
            module = ModuleDefinition.ReadModule(path, new ReaderParameters
            {
                AssemblyResolver = _resolver,
                ReadSymbols = true,
                ThrowIfSymbolsAreNotMatching = false,
                SymbolReaderProvider = new DefaultSymbolReaderProvider(throwIfNoSymbol: false),
            });
            if (module.HasSymbols)
            {
                // Cecil reads them with each method's body: what is broken is to be found here.
                foreach (MethodDefinition method in module.GetTypes().SelectMany(type => type.Methods).Where(method => method.HasBody))
                {
                    _ = method.DebugInformation.HasSequencePoints;
                }
            }

            return module;
        }
        catch (Exception)
        {
            // Whatever a reader of any format throws at any bytes. If it is the assembly that is broken, the next read says so.
            module?.Dispose();
            return null;
        }
    }

    private static ModuleDefinition Read(string path, ReaderParameters parameters)
    {
        try
        {
            return ModuleDefinition.ReadModule(path, parameters);
        }
        catch (Exception failure) when (failure is BadImageFormatException)
        {
            throw new RewriteException($"{Path.GetFileName(path)}: cannot be read: {failure.Message}");
        }
    }

    private static void Copy(string input, string output)
    {
        File.Copy(input, output, overwrite: true);
        string symbols = Path.ChangeExtension(input, ".pdb");
        if (File.Exists(symbols))
        {
            File.Copy(symbols, Path.ChangeExtension(output, ".pdb"), overwrite: true);
        }
    }
}
