using System.Text;

namespace Freehold.Site;

/// <summary>
/// Writes the pages that DocFX reads, with the paths that they have in the repository: the documentation, and whatever it links to. A link to a source file leads to a page
/// with its text, one to a folder to its README or to a list of its files. What is written says the same as the repository; only addresses differ.
/// </summary>
internal sealed class Staging(PageFiles files, string output, string report)
{
    /// <summary>A longer file is not one that a reader reads.</summary>
    private const int MaximumSourceBytes = 200_000;

    /// <summary>Of pages for those who follow a link: in no table of contents, and not found by the search, where they would hide the documentation.</summary>
    private const string BesideTheDocumentation = "---\n_disableToc: true\n_noindex: true\n_disableNextArticle: true\n---\n";

    private readonly Queue<string> _waiting = new();
    private readonly HashSet<string> _seen = new(StringComparer.Ordinal);

    public int PageCount => _seen.Count;

    /// <exception cref="SiteException">A link leads nowhere, or a page that others are made of is not as expected.</exception>
    public void Write()
    {
        if (Directory.Exists(output))
        {
            Directory.Delete(output, recursive: true);
        }

        foreach (var page in files.Roots())
        {
            Want(page);
        }

        Put("report.md", Relink("report.md", new ReportPage(report).ToMarkdown(PutPicture)));
        while (_waiting.TryDequeue(out var path))
        {
            Write(path);
        }

        Put("docs/toc.yml", new TableOfContents(files).ToYaml());
    }

    private void Write(string path)
    {
        var page = files.PageOf(path);
        if (files.IsFolder(path))
        {
            if (!files.IsFile(page))
            {
                Put(page, FolderPage(path));
            }
            else
            {
                Want(page);
            }
        }
        else if (path == "README.md")
        {
            Put(page, Relink(path, LandingPage.FromReadme(files.Read(path))));
        }
        else if (PageFiles.IsMarkdown(path))
        {
            var text = files.Read(path);
            Put(page, (IsDocumentation(path) ? "" : BesideTheDocumentation) + (MarkdownPage.HasTitle(text) ? "" : $"# {path}\n\n") + Relink(path, text));
        }
        else if (PageFiles.IsPicture(path))
        {
            PutPicture(path, files.At(path));
        }
        else
        {
            Put(page, SourcePage(path));
        }
    }

    private string Relink(string page, string text) => MarkdownPage.Relink(page, text, link =>
    {
        if (link.IsElsewhere || link.File.Length == 0)
        {
            return link.Address;
        }

        var target = files.Resolve(page, link);
        Want(target);
        return Address(page, files.PageOf(target)) + link.Anchor;
    });

    private string FolderPage(string folder)
    {
        var text = new StringBuilder($"{BesideTheDocumentation}# {folder}\n\n");
        foreach (var file in files.Below(folder))
        {
            Want(file);
            text.Append($"- [{file[(folder.Length + 1)..]}]({Address(folder + "/index.md", files.PageOf(file))})\n");
        }

        return text.ToString();
    }

    private string SourcePage(string file)
    {
        var text = new FileInfo(files.At(file)).Length <= MaximumSourceBytes ? files.Read(file) : "";
        if (text.Contains('\0', StringComparison.Ordinal))
        {
            text = "";
        }

        var fence = new string('`', 1 + Math.Max(2, LongestRun(text, '`')));
        return $"{BesideTheDocumentation}# {file}\n\n{(text.Length == 0 ? "Not text, or too long for a page." : $"{fence}{Language(file)}\n{text.TrimEnd('\n')}\n{fence}")}\n";
    }

    private static bool IsDocumentation(string path) => path.StartsWith("docs/", StringComparison.Ordinal) || !path.Contains('/', StringComparison.Ordinal);

    private static string Language(string file) => Path.GetExtension(file) switch
    {
        ".cs" => "csharp",
        ".csproj" or ".props" or ".targets" => "xml",
        ".cpp" or ".h" or ".c" or ".inc" => "cpp",
        ".sh" => "sh",
        ".json" => "json",
        _ => "text",
    };

    private static int LongestRun(string text, char what)
    {
        int longest = 0, now = 0;
        foreach (var c in text)
        {
            now = c == what ? now + 1 : 0;
            longest = Math.Max(longest, now);
        }

        return longest;
    }

    private static string Address(string from, string to) =>
        string.Join('/', Path.GetRelativePath("/" + Path.GetDirectoryName(from), "/" + to).Split('/').Select(Uri.EscapeDataString));

    private void Want(string path)
    {
        if (_seen.Add(path))
        {
            _waiting.Enqueue(path);
        }
    }

    private void Put(string page, string text)
    {
        var file = Path.Combine(output, page);
        Directory.CreateDirectory(Path.GetDirectoryName(file)!);
        File.WriteAllText(file, text);
    }

    private void PutPicture(string page, string source)
    {
        var file = Path.Combine(output, page);
        Directory.CreateDirectory(Path.GetDirectoryName(file)!);
        File.Copy(source, file, overwrite: true);
    }
}
