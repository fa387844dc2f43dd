using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;
using Freehold.Analyzers.CodeFixes;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CodeFixes;
using Microsoft.CodeAnalysis.CSharp;
using Microsoft.CodeAnalysis.CSharp.Testing;
using Microsoft.CodeAnalysis.Diagnostics;
using Microsoft.CodeAnalysis.Testing;

namespace Freehold.Analyzers.Tests;

/// <summary>Small programs with the findings marked: <c>{|FH1001:text|}</c>.</summary>
internal static class Source
{
    // What the small programs share. Their own text stands for members of a class.
    private const string Prefix = """
        #nullable disable
        #pragma warning disable CS8500
        using System;
        using System.Buffers;
        using System.Collections.Generic;
        using System.IO;
        using System.Linq;
        using System.Runtime.CompilerServices;
        using System.Text;
        using System.Threading;
        using System.Threading.Tasks;

        class Node
        {
            public Node Next;
            public int Value;
            public event Action Changed;
            public Node Use() => this;
            public void Raise() => Changed?.Invoke();
            public static void Take(object o) { }
            public static bool Coin;
        }

        class Program
        {

        """;

    private static readonly MetadataReference[] s_references =
    [
        .. ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")!).Split(Path.PathSeparator).Where(path => Path.GetFileName(path).StartsWith("System.", StringComparison.Ordinal)).Select(path => MetadataReference.CreateFromFile(path)),
        MetadataReference.CreateFromFile(typeof(Heap).Assembly.Location),
    ];

    /// <summary>The program's findings are those that are marked. FH1017 is not asked for.</summary>
    public static Task Body(string members) => Members<HeapAnalyzer>(members, OutputKind.ConsoleApplication);

    public static Task Members<T>(string members, OutputKind kind)
        where T : DiagnosticAnalyzer, new() => new Test<T, EmptyCodeFixProvider>(kind) { TestCode = Whole(members, kind) }.RunAsync(CancellationToken.None);

    /// <summary>What a fix makes of the program.</summary>
    public static Task Fix<T, TFix>(string members, string expected, int index = 0, OutputKind kind = OutputKind.ConsoleApplication)
        where T : DiagnosticAnalyzer, new()
        where TFix : CodeFixProvider, new() => new Test<T, TFix>(kind)
        {
            TestCode = Whole(members, kind),
            FixedCode = Whole(expected, kind),
            CodeActionIndex = index,
        }.RunAsync(CancellationToken.None);

    private static string Whole(string members, OutputKind kind) =>
        Prefix + "    " + members.ReplaceLineEndings("\n    ") + (kind == OutputKind.ConsoleApplication ? "\n\n    static void Main() { }\n}\n" : "\n}\n");

    private sealed class Test<T, TFix> : CSharpCodeFixTest<T, TFix, DefaultVerifier>
        where T : DiagnosticAnalyzer, new()
        where TFix : CodeFixProvider, new()
    {
        public Test(OutputKind kind)
        {
            // Nothing to download: the framework that the test itself runs on.
            ReferenceAssemblies = new ReferenceAssemblies("net10.0");
            TestState.OutputKind = kind;
            TestState.AdditionalReferences.AddRange(s_references);
            FixedState.InheritanceMode = StateInheritanceMode.AutoInheritAll;
            CompilerDiagnostics = CompilerDiagnostics.Errors;
            // It has no fix for all.
            CodeFixTestBehaviors = typeof(TFix) == typeof(DropFix) ? CodeFixTestBehaviors.SkipFixAllCheck : CodeFixTestBehaviors.None;
        }

        protected override CompilationOptions CreateCompilationOptions() => ((CSharpCompilationOptions)base.CreateCompilationOptions()).WithAllowUnsafe(true);

        protected override ParseOptions CreateParseOptions() => ((CSharpParseOptions)base.CreateParseOptions()).WithLanguageVersion(LanguageVersion.Latest);
    }
}
