using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;
using Freehold.Rewriter.Escape;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;
using Mono.Cecil;

namespace Freehold.Compiler.Tests.RandomPrograms;

/// <summary>Programs, compiled to one assembly, with the deletions of the real analysis, and with a check of each value that the code reads.</summary>
internal sealed class CheckedAssembly : IDisposable
{
    private static readonly MetadataReference[] s_references = [MetadataReference.CreateFromFile(typeof(object).Assembly.Location)];
    private readonly AssemblyLoadContext _context = new("random", isCollectible: true);
    private readonly Assembly _assembly;

    private CheckedAssembly(Stream image) => _assembly = _context.LoadFromStream(image);

    /// <inheritdoc/>
    public void Dispose() => _context.Unload();

    /// <summary>Compiles programs; null when the text is no C#.</summary>
    public static byte[]? Compile(string text, bool optimize, out string errors)
    {
        CSharpCompilation compilation = CSharpCompilation.Create(
            "RandomPrograms",
            [CSharpSyntaxTree.ParseText(ProgramText.Support), CSharpSyntaxTree.ParseText(ProgramText.Usings + text)],
            s_references,
            new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: optimize ? OptimizationLevel.Release : OptimizationLevel.Debug, allowUnsafe: true));
        using MemoryStream image = new();
        Microsoft.CodeAnalysis.Emit.EmitResult result = compilation.Emit(image);
        errors = string.Join(Environment.NewLine, result.Diagnostics.Where(diagnostic => diagnostic.Severity == DiagnosticSeverity.Error).Take(20));
        return result.Success ? image.ToArray() : null;
    }

    /// <summary>Adds the deletions to a compiled assembly, and the checks.</summary>
    public static CheckedAssembly Load(byte[] image, IReadOnlyList<string> framework, EscapeRule? without)
    {
        string folder = Directory.CreateTempSubdirectory("freehold-random").FullName;
        try
        {
            string file = Path.Combine(folder, "RandomPrograms.dll");
            File.WriteAllBytes(file, image);
            List<(MetadataToken, DeletionPlan)> plans = [];
            using (ClosedWorld world = new(framework, file))
            {
                AutoDeletion.OnDeepStack(() =>
                {
                    SummaryTable summaries = new(world, without);
                    plans.AddRange(world.Read(file).GetTypes().SelectMany(type => type.Methods).Select(method => (method.MetadataToken, summaries.PlanFor(method))));
                });
            }

            using ModuleDefinition module = ModuleDefinition.ReadModule(new MemoryStream(image));
            CheckWriter checks = new(module);
            foreach ((MetadataToken token, DeletionPlan plan) in plans)
            {
                MethodDefinition method = (MethodDefinition)module.LookupToken(token);
                int own = method.HasBody ? method.Body.Variables.Count : 0;
                if (plan.Objects.Count > 0)
                {
                    new DeletionWriter(method).Write(plan);
                }

                checks.Write(method, own);
            }

            MemoryStream output = new();
            module.Write(output);
            output.Position = 0;
            return new CheckedAssembly(output);
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private bool IsExpected(Exception exception) => exception.GetType().Assembly == _assembly
        || exception is NullReferenceException or ArgumentException or InvalidCastException or IndexOutOfRangeException or InvalidOperationException or ArrayTypeMismatchException;

    /// <summary>Runs a program several times, each time with other decisions.</summary>
    /// <returns>What was wrong, or null; and how many objects were deleted.</returns>
    public (string? Failure, int Deletions) Run(string program, int runs)
    {
        Type type = _assembly.GetType(program, throwOnError: true)!, support = _assembly.GetType("Support", throwOnError: true)!;
        FieldInfo steps = support.GetField("Steps")!, state = support.GetField("State")!;
        Action[] entries = [.. type.GetMethods().Where(method => method.Name.StartsWith("Entry", StringComparison.Ordinal)).Select(method => method.CreateDelegate<Action>())];
        int deletions = 0;
        for (int run = 0; run < runs; run++)
        {
            foreach (Action entry in entries)
            {
                DeletionChecker.Begin(_assembly, type);
                steps.SetValue(null, 150);
                state.SetValue(null, run * 7919);
                try
                {
                    entry();
                }
                catch (Exception exception) when (IsExpected(exception))
                {
                    // One more way out.
                }

                DeletionChecker.End();
                deletions += DeletionChecker.Deletions;
                if (DeletionChecker.Failure is { } failure)
                {
                    return ($"{entry.Method.Name}, run {run}: {failure}", deletions);
                }
            }
        }

        return (null, deletions);
    }
}
