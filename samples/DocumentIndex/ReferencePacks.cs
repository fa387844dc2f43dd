namespace DocumentIndex;

/// <summary>Finds the XML documentation files that come with every .NET SDK.</summary>
internal static class ReferencePacks
{
    private static readonly string[] s_packs = ["Microsoft.NETCore.App.Ref", "Microsoft.AspNetCore.App.Ref"];

    /// <summary>The files in a fixed order; a name that both packs have counts once.</summary>
    /// <exception cref="DirectoryNotFoundException">No reference pack was found.</exception>
    public static List<string> FindFiles(string? root)
    {
        var tried = new List<string>();
        foreach (var candidate in root is null ? Candidates() : [root])
        {
            var packs = Path.Combine(candidate, "packs");
            if (tried.Contains(packs))
            {
                continue;
            }

            tried.Add(packs);
            var files = FilesBelow(packs);
            if (files.Count > 0)
            {
                return files;
            }
        }

        throw new DirectoryNotFoundException(
            "The reference packs of the .NET SDK (packs/Microsoft.NETCore.App.Ref/*/ref/*/*.xml) were not found. Looked in: "
            + (tried.Count == 0 ? "nothing, as DOTNET_ROOT is not set and no 'dotnet' is on the PATH" : string.Join(", ", tried))
            + ". Install the .NET SDK, or name its folder with --dotnet-root.");
    }

    private static IEnumerable<string> Candidates()
    {
        if (Environment.GetEnvironmentVariable("DOTNET_ROOT") is { Length: > 0 } root)
        {
            yield return root;
        }

        foreach (var folder in (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':'))
        {
            var dotnet = new FileInfo(Path.Combine(folder, "dotnet"));
            if (folder.Length > 0 && dotnet.Exists)
            {
                var target = dotnet.ResolveLinkTarget(returnFinalTarget: true) ?? dotnet;
                yield return Path.GetDirectoryName(target.FullName)!;
            }
        }
    }

    private static List<string> FilesBelow(string packs)
    {
        var files = new SortedDictionary<string, string>(StringComparer.Ordinal);
        foreach (var pack in s_packs)
        {
            var folder = Path.Combine(packs, pack);
            var newest = Directory.Exists(folder)
                ? Directory.GetDirectories(folder).OrderBy(VersionOf).ThenBy(name => name, StringComparer.Ordinal).LastOrDefault()
                : null;
            var references = newest is null ? null : Path.Combine(newest, "ref");
            if (Directory.Exists(references))
            {
                foreach (var file in Directory.GetFiles(references, "*.xml", SearchOption.AllDirectories))
                {
                    files.TryAdd(Path.GetFileName(file), file);
                }
            }
        }

        return [.. files.Values];
    }

    private static Version VersionOf(string folder) =>
        Version.TryParse(Path.GetFileName(folder).Split('-')[0], out var version) ? version : new Version();
}
