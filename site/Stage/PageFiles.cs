namespace Freehold.Site;

/// <summary>The files of the repository, by paths with '/' from its root, and what stands for each of them in the site.</summary>
internal sealed class PageFiles(string root)
{
    private static readonly HashSet<string> s_pictures = new(StringComparer.OrdinalIgnoreCase) { ".svg", ".png" };
    private static readonly HashSet<string> s_made = new(StringComparer.Ordinal) { "bin", "obj", "artifacts", ".git" };

    /// <summary>Where a page of documentation begins: these and what they lead to are the site.</summary>
    public IEnumerable<string> Roots() => Below("docs").Where(file => file.EndsWith(".md", StringComparison.Ordinal)).Concat(["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]);

    public bool IsFolder(string path) => Directory.Exists(At(path));

    public bool IsFile(string path) => File.Exists(At(path));

    public string At(string path) => Path.Combine(root, path);

    public string Read(string path) => File.ReadAllText(At(path));

    /// <summary>The files of a folder and its folders, without what a build made, in the order of their names.</summary>
    public IEnumerable<string> Below(string folder)
    {
        foreach (var entry in Directory.EnumerateFileSystemEntries(At(folder)).Order(StringComparer.Ordinal))
        {
            var path = $"{folder}/{Path.GetFileName(entry)}";
            if (!Directory.Exists(entry))
            {
                yield return path;
            }
            else if (!s_made.Contains(Path.GetFileName(entry)))
            {
                foreach (var file in Below(path))
                {
                    yield return file;
                }
            }
        }
    }

    /// <summary>What a link leads to: a path from the root, without a '/' at its end.</summary>
    /// <exception cref="SiteException">There is no such file, or it lies outside the repository.</exception>
    public string Resolve(string page, PageLink link)
    {
        var target = Path.GetRelativePath(root, Path.GetFullPath(Path.Combine(root, Path.GetDirectoryName(page)!, Uri.UnescapeDataString(link.File))));
        return !target.StartsWith("..", StringComparison.Ordinal) && (IsFile(target) || IsFolder(target))
            ? target
            : throw new SiteException($"{page}({link.Line}): '{link.Address}' leads nowhere");
    }

    public static bool IsMarkdown(string path) => path.EndsWith(".md", StringComparison.Ordinal);

    public static bool IsPicture(string path) => s_pictures.Contains(Path.GetExtension(path));

    /// <summary>The page of the site that stands for a file or a folder: of a folder its README, or a list of its files; of a source file one with its text.</summary>
    public string PageOf(string path)
    {
        if (path == "README.md")
        {
            return "index.md";
        }

        if (IsFolder(path))
        {
            return $"{path}/{(IsFile(path + "/README.md") ? "README.md" : "index.md")}";
        }

        return IsMarkdown(path) || IsPicture(path) ? path : path + ".md";
    }
}
