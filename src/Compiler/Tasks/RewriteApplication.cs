using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Build.Framework;
using TaskItem = Microsoft.Build.Utilities.TaskItem;

namespace Freehold.Tasks;

/// <summary>Rewrites the program's own assemblies and those of its packages into obj/, each only when its content or the patch set changed.</summary>
/// <remarks>
/// Beside each copy lies <c>&lt;name&gt;.key</c> with the hash that it was made from, written last. Hashes and not times: the rewriter gives each copy a new
/// module id, so a needless rewrite would make ilc compile again.
/// </remarks>
public sealed class RewriteApplication : FreeholdTask, ICancelableTask, IDisposable
{
    // Behind the name of a copy: what the rewriter has to say of it, one place a line.
    private const string WarningsExtension = ".warnings";

    private readonly CancellationTokenSource _cancellation = new();

    /// <summary>What ilc compiles.</summary>
    [Required]
    public ITaskItem[] Inputs { get; set; } = [];

    /// <summary>What it refers to, without the framework.</summary>
    public ITaskItem[] References { get; set; } = [];

    /// <summary>Folder of the toolchain, whose framework the assemblies refer to.</summary>
    [Required]
    public string Toolchain { get; set; } = "";

    /// <summary>Where the copies go.</summary>
    [Required]
    public string OutputDirectory { get; set; } = "";

    /// <summary>freehold-rewrite.dll.</summary>
    [Required]
    public string Rewriter { get; set; } = "";

    /// <summary>The dotnet executable; empty for the one in PATH.</summary>
    public string DotNetHost { get; set; } = "";

    /// <summary>Id of the rewriter's passes; part of each key.</summary>
    [Required]
    public string PatchSet { get; set; } = "";

    /// <summary>Add deletions of what the program's methods make and nobody needs any more. That takes all assemblies into account.</summary>
    public bool AutoDelete { get; set; }

    /// <summary>File for where these are, and why other objects are left; empty for none.</summary>
    public string EscapeReport { get; set; } = "";

    /// <summary>The copies of <see cref="Inputs"/>.</summary>
    [Output]
    public ITaskItem[] RewrittenInputs { get; private set; } = [];

    /// <summary>The copies of <see cref="References"/>.</summary>
    [Output]
    public ITaskItem[] RewrittenReferences { get; private set; } = [];

    /// <inheritdoc />
    public void Cancel() => _cancellation.Cancel();

    /// <inheritdoc />
    public void Dispose() => _cancellation.Dispose();

    /// <inheritdoc />
    protected override void Run()
    {
        Directory.CreateDirectory(OutputDirectory);
        List<string> searched = [Path.Combine(Toolchain, "sdk"), Path.Combine(Toolchain, "framework"), .. References.Select(FolderOf).Distinct()];

        Assembly[] all = [.. Inputs.Concat(References).Select(Describe)];
        if (AutoDelete)
        {
            // Each depends on all.
            string together = string.Concat(all.Select(assembly => assembly.Key));
            all = [.. all.Select(assembly => assembly with { Key = $"{assembly.Key} {HashOf(together)}" })];
        }

        bool needsReport = AutoDelete && EscapeReport.Length > 0 && !File.Exists(EscapeReport);
        Assembly[] stale = [.. all.Where(IsStale)];
        stale = AutoDelete && (stale.Length > 0 || needsReport) ? all : stale;
        try
        {
            Parallel.ForEach(Divide(stale, AutoDelete ? 1 : Environment.ProcessorCount), batch => RewriteAll(batch, searched));
        }
        catch (AggregateException exception)
        {
            throw exception.InnerExceptions[0] is FreeholdException first ? first : new FreeholdException("FH0011", exception.InnerExceptions[0].Message);
        }

        foreach (ITaskItem item in Inputs.Concat(References))
        {
            WarnOf(item);
        }

        RewrittenInputs = [.. Inputs.Select(CopyOf)];
        RewrittenReferences = [.. References.Select(CopyOf)];
    }

    private static string FolderOf(ITaskItem item) => Path.GetDirectoryName(item.GetMetadata("FullPath"))!;

    private string TargetOf(ITaskItem item) => Path.Combine(OutputDirectory, item.GetMetadata("Filename") + item.GetMetadata("Extension"));

    private TaskItem CopyOf(ITaskItem item)
    {
        var copy = new TaskItem(TargetOf(item));
        item.CopyMetadataTo(copy);
        return copy;
    }

    // Every time, whether the assembly was rewritten now or before.
    private void WarnOf(ITaskItem item)
    {
        string file = TargetOf(item) + WarningsExtension;
        if (!File.Exists(file))
        {
            return;
        }

        const int Named = 5;
        string[] places = File.ReadAllLines(file);
        string more = places.Length > Named ? $"; and {places.Length - Named} more, in {file}" : "";
        LogWarning(
            "FH0014",
            $"{Path.GetFileName(item.ItemSpec)} makes a number or a pointer of a reference without a pin, which leads elsewhere when the object moves: "
            + $"{string.Join("; ", places.Take(Named))}{more}. Use 'fixed' or a GCHandle of type Pinned for as long as it is used; where something else pins, NoWarn FH0014.");
    }

    // Batches of about the same size in bytes, one for each process.
    private static List<Assembly>[] Divide(IEnumerable<Assembly> assemblies, int processes)
    {
        List<Assembly>[] batches = [.. Enumerable.Range(0, processes).Select(_ => new List<Assembly>())];
        long[] bytes = new long[processes];
        foreach (Assembly assembly in assemblies.OrderByDescending(assembly => assembly.Bytes))
        {
            int smallest = Array.IndexOf(bytes, bytes.Min());
            batches[smallest].Add(assembly);
            bytes[smallest] += assembly.Bytes;
        }

        return [.. batches.Where(batch => batch.Count > 0)];
    }

    private Assembly Describe(ITaskItem item)
    {
        string source = item.GetMetadata("FullPath");
        return new Assembly(source, TargetOf(item), KeyOf(source), new FileInfo(source).Length);
    }

    private bool IsStale(Assembly assembly)
    {
        bool stale = !File.Exists(assembly.Target) || !File.Exists(assembly.KeyPath) || File.ReadAllText(assembly.KeyPath) != assembly.Key;
        if (!stale)
        {
            Log.LogMessage(MessageImportance.Low, "Not rewritten, unchanged: {0}", assembly.Source);
        }

        return stale;
    }

    private void RewriteAll(List<Assembly> batch, IEnumerable<string> searched)
    {
        // A build that is killed from here on leaves copies without a key, which the next one makes again.
        batch.ForEach(assembly =>
        {
            File.Delete(assembly.KeyPath);
            File.Delete(assembly.Target + WarningsExtension);
        });
        IEnumerable<string> applications = batch.SelectMany(assembly => new[] { "--application", assembly.Source, "--output", assembly.Target });
        IEnumerable<string> references = searched.SelectMany(folder => new[] { "--reference", folder });
        new RewriterProcess(DotNetHost, Rewriter).Run([.. applications, .. references, .. Deletion()], _cancellation.Token);
        batch.ForEach(assembly => File.WriteAllText(assembly.KeyPath, assembly.Key));
    }

    private IEnumerable<string> Deletion() => !AutoDelete ? [] : EscapeReport.Length == 0 ? ["--auto-delete"] : ["--auto-delete", "--escape-report", EscapeReport];

    private static string HashOf(string text) => Convert.ToHexStringLower(SHA256.HashData(Encoding.UTF8.GetBytes(text)));

    private string KeyOf(string source)
    {
        using var hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        hash.AppendData(Encoding.UTF8.GetBytes(PatchSet));
        hash.AppendData(File.ReadAllBytes(source));
        string symbols = Path.ChangeExtension(source, ".pdb");
        if (File.Exists(symbols))
        {
            hash.AppendData(File.ReadAllBytes(symbols));
        }

        return Convert.ToHexStringLower(hash.GetHashAndReset());
    }

    private sealed record Assembly(string Source, string Target, string Key, long Bytes)
    {
        public string KeyPath => Target + ".key";
    }
}
