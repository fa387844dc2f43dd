using System;
using System.Collections.Generic;
using System.IO;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using Microsoft.Build.Framework;
using Microsoft.Build.Utilities;

namespace Freehold.Tasks;

/// <summary>Rewrites the program's own assemblies and those of its packages into obj/, each only when its content or the patch set changed.</summary>
/// <remarks>
/// Beside each copy lies <c>&lt;name&gt;.key</c> with the hash that it was made from, written last. Hashes and not times: the rewriter gives each copy a new
/// module id, so a needless rewrite would make ilc compile again.
/// </remarks>
public sealed class RewriteApplication : FreeholdTask, ICancelableTask, IDisposable
{
    private readonly CancellationTokenSource _cancellation = new();

    /// <summary>What ilc compiles.</summary>
    [Required]
    public ITaskItem[] Inputs { get; set; } = [];

    /// <summary>What it refers to, without the framework.</summary>
    public ITaskItem[] References { get; set; } = [];

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
        RewrittenInputs = Rewrite(Inputs);
        RewrittenReferences = Rewrite(References);
    }

    private ITaskItem[] Rewrite(ITaskItem[] items)
    {
        var result = new List<ITaskItem>();
        foreach (ITaskItem item in items)
        {
            string source = item.GetMetadata("FullPath");
            string target = Path.Combine(OutputDirectory, Path.GetFileName(source));
            RewriteOne(source, target);
            var copy = new TaskItem(target);
            item.CopyMetadataTo(copy);
            result.Add(copy);
        }

        return [.. result];
    }

    private void RewriteOne(string source, string target)
    {
        string keyPath = target + ".key";
        string key = KeyOf(source);
        if (File.Exists(target) && File.Exists(keyPath) && File.ReadAllText(keyPath) == key)
        {
            Log.LogMessage(MessageImportance.Low, "Not rewritten, unchanged: {0}", source);
            return;
        }

        // A build that is killed from here on leaves a copy without a key, which the next one makes again.
        File.Delete(keyPath);
        new RewriterProcess(DotNetHost, Rewriter).Run(["--application", source, "--output", target], _cancellation.Token);
        File.WriteAllText(keyPath, key);
    }

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
}
