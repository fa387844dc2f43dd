using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Text.Json;

namespace Freehold.Rewriter;

/// <summary>The command <c>freehold-rewrite</c>.</summary>
public static class Program
{
    private const string CoreLib = "System.Private.CoreLib.dll";

    /// <summary>Runs the command; 0 when it succeeded, 1 after an error on the error stream.</summary>
    public static int Main(string[] arguments)
    {
        try
        {
            Options options = Options.Parse(arguments);
            if (options.Help)
            {
                Console.WriteLine(Options.Usage);
            }
            else if (options.PrintVersion)
            {
                Console.WriteLine(PassManifest.PatchSetId);
            }
            else if (options.EscapeReport is { } report && !options.AutoDelete)
            {
                using Escape.AutoDeletion deletion = new(options.Inputs, options.References);
                foreach (string input in options.Inputs)
                {
                    deletion.Plan(input);
                }

                deletion.WriteReport(report);
            }
            else if (options.Applications.Any())
            {
                RewriteApplications(options);
            }
            else
            {
                RewriteFramework(options);
            }

            return 0;
        }
        catch (Exception failure) when (failure is RewriteException or IOException or UnauthorizedAccessException)
        {
            Console.Error.WriteLine($"freehold-rewrite: error: {failure.Message}");
            return 1;
        }
    }

    private static void RewriteFramework(Options options)
    {
        string output = Path.GetFullPath(options.Output);
        if (Directory.Exists(output))
        {
            throw new RewriteException($"The output folder {output} exists already.");
        }

        if (!File.Exists(Path.Combine(options.Sdk!, CoreLib)))
        {
            throw new RewriteException($"There is no {CoreLib} in {options.Sdk}.");
        }

        long start = Stopwatch.GetTimestamp();
        string unfinished = $"{output}.{Environment.ProcessId}.tmp";
        using AssemblyRewriter rewriter = new([options.Sdk!, options.Framework!], FrameworkNames.Read(options.Names!));
        int rewritten = 0, total = 0;
        try
        {
            foreach ((string source, string name) in new[] { (options.Sdk!, "sdk"), (options.Framework!, "framework") })
            {
                string target = Path.Combine(unfinished, name);
                Directory.CreateDirectory(target);
                foreach (string input in Directory.EnumerateFiles(source, "*.dll").Order(StringComparer.Ordinal))
                {
                    AssemblyRole role = Path.GetFileName(input) == CoreLib ? AssemblyRole.CoreLib : AssemblyRole.Framework;
                    rewritten += rewriter.Rewrite(input, Path.Combine(target, Path.GetFileName(input)), role) ? 1 : 0;
                    total++;
                }
            }

            Passes.OwnedParts.RequireAll(rewriter.Statistics.Single(pass => pass.Pass == nameof(Passes.OwnedParts)));
            Passes.OutgrownArrays.RequireAll(rewriter.Statistics.Single(pass => pass.Pass == nameof(Passes.OutgrownArrays)));
            Passes.SharedObjects.RequireAll(rewriter.Statistics.Single(pass => pass.Pass == nameof(Passes.SharedObjects)));
            Report(options, rewriter);
            Directory.Move(unfinished, output);
        }
        finally
        {
            if (Directory.Exists(unfinished))
            {
                Directory.Delete(unfinished, recursive: true);
            }
        }

        Console.WriteLine($"{rewritten} of {total} assemblies rewritten in {Stopwatch.GetElapsedTime(start).TotalSeconds:F1} s");
    }

    // Many at once: reading what they refer to takes longer than rewriting, and they refer to the same.
    private static void RewriteApplications(Options options)
    {
        IEnumerable<string> folders = options.Applications.Select(application => Path.GetDirectoryName(Path.GetFullPath(application.Input))!).Distinct();
        using Escape.AutoDeletion? deletion = options.AutoDelete ? new(options.Inputs, options.References) : null;
        using AssemblyRewriter rewriter = new([.. options.References, .. folders]) { Deletion = deletion };
        foreach ((string input, string output) in options.Applications)
        {
            RewriteApplication(rewriter, input, Path.GetFullPath(output));
        }

        if (options.EscapeReport is { } report)
        {
            deletion!.WriteReport(report);
        }

        Report(options, rewriter);
    }

    private static void RewriteApplication(AssemblyRewriter rewriter, string input, string output)
    {
        if (!File.Exists(input))
        {
            throw new RewriteException($"There is no {input}.");
        }

        if (Path.GetFullPath(input) == output)
        {
            throw new RewriteException("An application cannot be rewritten in place.");
        }

        // Symbols carry the assembly's file name, so the unfinished files keep their names and get a folder of their own.
        string directory = Path.GetDirectoryName(output)!;
        string unfinished = Path.Combine(directory, $".freehold-rewrite.{Environment.ProcessId}.{Guid.NewGuid():N}");
        Directory.CreateDirectory(unfinished);
        try
        {
            rewriter.Rewrite(input, Path.Combine(unfinished, Path.GetFileName(output)), AssemblyRole.Application);
            File.Delete(output + AssemblyRewriter.WarningsExtension);
            foreach (string written in Directory.EnumerateFiles(unfinished))
            {
                File.Move(written, Path.Combine(directory, Path.GetFileName(written)), overwrite: true);
            }
        }
        catch (Exception failure) when (failure is not RewriteException)
        {
            // One of many: say which. Compilers and obfuscators write what Cecil has not met, and then its stack trace is what a report needs.
            throw new RewriteException($"{input}: cannot be rewritten: {(failure is IOException or UnauthorizedAccessException ? failure.Message : failure)}");
        }
        finally
        {
            Directory.Delete(unfinished, recursive: true);
        }
    }

    private static void Report(Options options, AssemblyRewriter rewriter)
    {
        foreach (PassStatistics pass in rewriter.Statistics)
        {
            if (options.Verbose)
            {
                foreach (string decision in pass.Decisions)
                {
                    Console.WriteLine(decision);
                }
            }

            string skipped = string.Concat(pass.Skipped.Select(entry => $"; {entry.Value} skipped: {entry.Key}"));
            Console.WriteLine($"{pass.Pass}: {pass.Seen} sites, {pass.Rewritten} rewritten{skipped}");
        }

        if (options.Statistics is not null)
        {
            var document = new
            {
                PatchSet = PassManifest.PatchSetId,
                Passes = rewriter.Statistics.Select(pass => new { pass.Pass, pass.Seen, pass.Rewritten, pass.Skipped }),
            };
            File.WriteAllText(options.Statistics, JsonSerializer.Serialize(document, new JsonSerializerOptions { WriteIndented = true }) + "\n");
        }
    }
}
