using AngleSharp.Dom;
using AngleSharp.Html.Dom;

namespace Freehold.Site.Tests;

/// <summary>Follows what pages lead to, within the site. Nothing is asked of other sites; their addresses have to be https.</summary>
internal static class LinkChecker
{
    /// <summary>A piece that other pages load: the table of contents without its script.</summary>
    public static bool IsPart(string page) => Path.GetFileName(page) == "toc.html";

    /// <summary>'page: address' for each address that leads nowhere.</summary>
    public static IEnumerable<string> Broken(string folder, IReadOnlyDictionary<string, IHtmlDocument> pages)
    {
        var anchors = pages.ToDictionary(
            page => page.Key, page => page.Value.QuerySelectorAll("[id],a[name]").Select(part => part.Id ?? part.GetAttribute("name")!).ToHashSet(StringComparer.Ordinal), StringComparer.Ordinal);
        foreach (var (page, document) in pages)
        {
            foreach (var address in document.QuerySelectorAll("[href],[src]").Select(part => part.GetAttribute("href") ?? part.GetAttribute("src")!).Distinct())
            {
                if (!Leads(page, address))
                {
                    yield return $"{page}: {address}";
                }
            }
        }

        bool Leads(string page, string address)
        {
            if (address.StartsWith("mailto:", StringComparison.Ordinal) || address.Contains("://", StringComparison.Ordinal))
            {
                return !address.StartsWith("http:", StringComparison.Ordinal);
            }

            var parts = address.Split('#', 2);
            var file = Path.GetRelativePath(folder, Path.GetFullPath(Path.Combine(folder, Path.GetDirectoryName(page)!, Uri.UnescapeDataString(parts[0].Split('?')[0]))));
            file = parts[0].Length == 0 ? page : file;
            return File.Exists(Path.Combine(folder, file)) && (parts.Length == 1 || parts[1].Length == 0 || (anchors.TryGetValue(file, out var known) && known.Contains(Uri.UnescapeDataString(parts[1]))));
        }
    }
}
