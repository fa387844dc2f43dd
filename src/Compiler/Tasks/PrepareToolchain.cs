using System;
using System.IO;
using System.Threading;
using Microsoft.Build.Framework;

namespace Freehold.Tasks;

/// <summary>
/// Makes the toolchain that ilc and the linker read instead of the official package: the framework with rewritten IL, the runtime's archives without the stock
/// garbage collector. Once for each ILCompiler version and patch set, in the user's cache.
/// </summary>
/// <remarks>
/// Layout of the cache: <c>&lt;key&gt;/{sdk,framework}</c> a finished toolchain, which appears by a rename and is never written to again;
/// <c>&lt;key&gt;.lock</c>; <c>&lt;key&gt;.tmp-*</c> one in the making, or left by a killed build, which the next build deletes under the lock.
/// </remarks>
public sealed class PrepareToolchain : FreeholdTask, ICancelableTask, IDisposable
{
    private readonly CancellationTokenSource _cancellation = new();

    /// <summary>runtime-patches/&lt;version&gt;, with manifest.json and framework.json.</summary>
    [Required]
    public string RuntimePatches { get; set; } = "";

    /// <summary>Folder of the official package with ilc.</summary>
    [Required]
    public string CompilerPackage { get; set; } = "";

    /// <summary>Folder of the official package with the runtime and the framework; in some versions the same.</summary>
    [Required]
    public string RuntimePackage { get; set; } = "";

    /// <summary>freehold-rewrite.dll.</summary>
    [Required]
    public string Rewriter { get; set; } = "";

    /// <summary>The dotnet executable; empty for the one in PATH.</summary>
    public string DotNetHost { get; set; } = "";

    /// <summary>The cache; empty for the user's own.</summary>
    public string CacheDirectory { get; set; } = "";

    /// <summary>Names the toolchain within the cache.</summary>
    [Required]
    public string Key { get; set; } = "";

    /// <summary>The finished toolchain, with a slash at its end.</summary>
    [Output]
    public string Toolchain { get; private set; } = "";

    /// <inheritdoc />
    public void Cancel() => _cancellation.Cancel();

    /// <inheritdoc />
    public void Dispose() => _cancellation.Dispose();

    /// <inheritdoc />
    protected override void Run()
    {
        string cache = Path.GetFullPath(CacheDirectory.Length != 0 ? CacheDirectory : DefaultCacheDirectory());
        string final = Path.Combine(cache, Key);
        Toolchain = final + "/";
        if (IsUsable(final))
        {
            return;
        }

        using CacheLock taken = TakeLock(cache, final);
        if (IsUsable(final))
        {
            return;
        }

        DeleteLeftovers(cache);
        Log.LogMessage(MessageImportance.High, "Preparing Freehold's toolchain (once per version, some ten seconds): {0}", final);
        string temporary = $"{final}.tmp-{Guid.NewGuid():N}";
        try
        {
            Make(temporary);
            if (Directory.Exists(final))
            {
                // Damaged: somebody deleted or changed a file. Out of the way first, since a rename cannot replace a folder that is not empty.
                Directory.Move(final, $"{final}.tmp-{Guid.NewGuid():N}");
            }

            Directory.Move(temporary, final);
        }
        finally
        {
            DeleteLeftovers(cache);
        }
    }

    private bool IsUsable(string final)
    {
        ToolchainStamp.State state = ToolchainStamp.Compare(final, out string difference);
        Log.LogMessage(MessageImportance.Low, "Freehold's toolchain at {0}: {1} {2}", final, state, difference);
        if (state == ToolchainStamp.State.Copied)
        {
            // Not under the lock: whoever does the same writes the same.
            try
            {
                ToolchainStamp.Write(final);
            }
            catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
            {
                Log.LogMessage(MessageImportance.Low, "It is compared by its contents each time, as its folder cannot be written to: {0}", exception.Message);
            }
        }

        return state != ToolchainStamp.State.Damaged;
    }

    private CacheLock TakeLock(string cache, string final)
    {
        try
        {
            Directory.CreateDirectory(cache);
            return CacheLock.Take(
                final + ".lock",
                () => Log.LogMessage(MessageImportance.High, "Another build prepares Freehold's toolchain; waiting for it"),
                _cancellation.Token);
        }
        catch (Exception exception) when ((exception is IOException or UnauthorizedAccessException) && Directory.Exists(final))
        {
            ToolchainStamp.Compare(final, out string difference);
            throw new FreeholdException(
                "FH0011",
                $"The toolchain at '{final}' is not as it was made ({difference}), and cannot be made again there: {exception.Message} "
                + "Copy it anew, make its folder writable, or set FreeholdCacheDirectory to another folder.");
        }
    }

    private void DeleteLeftovers(string cache)
    {
        foreach (string leftover in Directory.EnumerateDirectories(cache, Key + ".tmp-*"))
        {
            try
            {
                Directory.Delete(leftover, recursive: true);
            }
            catch (IOException exception)
            {
                // The rewriter of a killed build may still be writing there. Nobody reads it; the next build tries again.
                Log.LogMessage(MessageImportance.Low, "{0} stays: {1}", leftover, exception.Message);
            }
        }
    }

    internal static string DefaultCacheDirectory()
    {
        string? root = Environment.GetEnvironmentVariable("XDG_CACHE_HOME");
        if (string.IsNullOrEmpty(root))
        {
            string home = Environment.GetFolderPath(Environment.SpecialFolder.UserProfile);
            if (home.Length == 0)
            {
                throw new FreeholdException("FH0011", "There is no home directory for the toolchain cache. Set FreeholdCacheDirectory to a folder.");
            }

            root = Path.Combine(home, ".cache");
        }

        return Path.Combine(root, "freehold");
    }

    private void Make(string output)
    {
        ToolchainManifest manifest = ToolchainManifest.Read(Path.Combine(RuntimePatches, "manifest.json"), CompilerPackage, RuntimePackage);
        manifest.Verify();

        string sdk = manifest.Folder("sdk");
        string framework = manifest.Folder("framework");
        string names = Path.Combine(RuntimePatches, "framework.json");
        new RewriterProcess(DotNetHost, Rewriter).Run(["--sdk", sdk, "--framework", framework, "--names", names, "--output", output], _cancellation.Token);

        CompleteSdk(manifest, sdk, Path.Combine(output, "sdk"));
        LinkMissingAssemblies(sdk, Path.Combine(output, "sdk"));
        LinkMissingAssemblies(framework, Path.Combine(output, "framework"));
        ToolchainStamp.Write(output);
    }

    /// <summary>The archives and objects that the link needs.</summary>
    private static void CompleteSdk(ToolchainManifest manifest, string source, string target)
    {
        Directory.CreateDirectory(target);
        foreach (string path in Directory.EnumerateFiles(source))
        {
            string name = "sdk/" + Path.GetFileName(path);
            // The shared libraries beside the archives are for programs that are not compiled ahead.
            if (Path.GetExtension(path) is not (".a" or ".o") || manifest.IsOmitted(name))
            {
                continue;
            }

            string copy = Path.Combine(target, Path.GetFileName(path));
            if (manifest.RemovedMembers(name) is { } members)
            {
                ArchiveFilter.Copy(path, copy, members);
            }
            else
            {
                FileLink.LinkOrCopy(path, copy);
            }
        }
    }

    /// <summary>Assemblies that the rewriter had nothing to change in.</summary>
    private static void LinkMissingAssemblies(string source, string target)
    {
        Directory.CreateDirectory(target);
        foreach (string path in Directory.EnumerateFiles(source, "*.dll"))
        {
            string copy = Path.Combine(target, Path.GetFileName(path));
            if (File.Exists(copy))
            {
                continue;
            }

            FileLink.LinkOrCopy(path, copy);

            // Symbols only beside the assembly that they belong to: those of a rewritten one are the rewriter's business.
            string symbols = Path.ChangeExtension(path, ".pdb");
            if (File.Exists(symbols))
            {
                FileLink.LinkOrCopy(symbols, Path.ChangeExtension(copy, ".pdb"));
            }
        }
    }
}
