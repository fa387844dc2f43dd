using Markdig;
using Markdig.Syntax;
using Markdig.Syntax.Inlines;

namespace Freehold.Site;

/// <summary>What the site has to know of a page of Markdown: its links, with their places in the text, so that one can be changed and nothing else.</summary>
internal static class MarkdownPage
{
    private static readonly MarkdownPipeline s_pipeline = new MarkdownPipelineBuilder().UsePipeTables().UsePreciseSourceLocation().Build();

    /// <summary>All links and pictures, in the order of the text.</summary>
    /// <exception cref="SiteException">The page has a form of links that is not known here.</exception>
    public static IReadOnlyList<PageLink> Links(string page, string text)
    {
        var links = new List<PageLink>();
        foreach (var link in Markdown.Parse(text, s_pipeline).Descendants<LinkInline>())
        {
            if (link.Reference is not null || link.Url is null)
            {
                throw new SiteException($"{page}({link.Line + 1}): write the address into the link, '[text](address)'");
            }

            links.Add(new PageLink(link.UrlSpan.Start, link.UrlSpan.Length, link.Line + 1, link.Url, string.Concat(link.Descendants().Select(Text))));
        }

        return [.. links.OrderBy(link => link.Start)];
    }

    /// <summary>The text with other addresses, as the function gives them for each link.</summary>
    public static string Relink(string page, string text, Func<PageLink, string> address)
    {
        foreach (var link in Links(page, text).Reverse())
        {
            text = string.Concat(text.AsSpan(0, link.Start), address(link), text.AsSpan(link.Start + link.Length));
        }

        return text;
    }

    public static bool HasTitle(string text) => Heading(text) is not null;

    /// <summary>A page's first heading, or the name of its file.</summary>
    public static string Title(string page, string text) =>
        Heading(text)?.Inline is { } title ? string.Concat(title.Descendants().Select(Text)) : Path.GetFileNameWithoutExtension(page);

    private static HeadingBlock? Heading(string text) => Markdown.Parse(text, s_pipeline).Descendants<HeadingBlock>().FirstOrDefault(heading => heading.Level == 1);

    private static string Text(MarkdownObject part) => part switch
    {
        LiteralInline literal => literal.Content.ToString(),
        CodeInline code => code.Content,
        LineBreakInline => " ",
        _ => "",
    };
}
