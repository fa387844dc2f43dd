using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;
using Freehold.Rewriter;
using Freehold.Rewriter.Importing;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Mono.Cecil;
using Xunit;

namespace Freehold.Compiler.Tests;

/// <summary>Two assemblies of C#: members of one are copied into the other, which then runs.</summary>
internal sealed class ImportFixture
{
    private static readonly MetadataReference[] s_platform = [.. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(':')
        .Where(path => Path.GetFileName(path) is "System.Private.CoreLib.dll" or "System.Runtime.dll")
        .Select(path => MetadataReference.CreateFromFile(path))];

    private static readonly SyntaxTree[] s_marks = [.. Directory.EnumerateFiles(Path.Combine(Golden.Metadata("GoldenDirectory"), "../../../src/Compiler/InjectedRuntime/Markers"), "*.cs")
        .Select(path => CSharpSyntaxTree.ParseText("using System;\n" + File.ReadAllText(path)))];

    /// <summary>Compiles both.</summary>
    public ImportFixture(string framework, string source, FrameworkNames? names = null, bool coreLib = false)
    {
        Module = ModuleDefinition.ReadModule(Compile(coreLib ? "System.Private.CoreLib" : "Framework", [CSharpSyntaxTree.ParseText("using System;\n" + framework)], coreLib ? [] : s_platform));
        SyntaxTree[] trees = [.. s_marks, CSharpSyntaxTree.ParseText("using System;\nusing System.Runtime.Importing;\n" + source)];
        Importer = new Importer(new AssemblyUnderRewrite(Module, AssemblyRole.CoreLib, names), new ImportSource(Compile("Source", trees, s_platform)), names);
    }

    /// <summary>What is copied into.</summary>
    public ModuleDefinition Module { get; }

    /// <summary>What copies.</summary>
    public Importer Importer { get; }

    /// <summary>Calls a method of the result.</summary>
    public object? Run(string type, string method, params object?[] arguments)
    {
        using MemoryStream result = new();
        Module.Write(result);
        result.Position = 0;
        AssemblyLoadContext context = new(null, isCollectible: true);
        try
        {
            Type loaded = context.LoadFromStream(result).GetType(type, throwOnError: true)!;
            return loaded.GetMethod(method, BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic)!.Invoke(null, arguments);
        }
        finally
        {
            context.Unload();
        }
    }

    /// <summary>The message of the error that copying a method of the class Added ends with.</summary>
    public string Failure(string method = "Run") => Assert.Throws<RewriteException>(() => Importer.Method("Added", method)).Message;

    private static MemoryStream Compile(string name, IEnumerable<SyntaxTree> trees, IEnumerable<MetadataReference> references)
    {
        CSharpCompilationOptions options = new(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: OptimizationLevel.Release, allowUnsafe: true);
        MemoryStream assembly = new();
        Microsoft.CodeAnalysis.Emit.EmitResult result = CSharpCompilation.Create(name, trees, references, options).Emit(assembly);
        Assert.True(result.Success, string.Join('\n', result.Diagnostics.Where(diagnostic => diagnostic.Severity == DiagnosticSeverity.Error)));
        assembly.Position = 0;
        return assembly;
    }
}
