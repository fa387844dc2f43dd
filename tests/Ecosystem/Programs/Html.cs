using AngleSharp;
using AngleSharp.Dom;
using AngleSharp.Html.Dom;
using AngleSharp.Html.Parser;

namespace Freehold.Differential.Programs;

/// <summary>AngleSharp: documents parsed, searched with CSS selectors, changed and written.</summary>
internal static class Html
{
    public static void Run()
    {
        var parser = new HtmlParser();
        for (int seed = 0; seed < 40; seed++)
        {
            using IHtmlDocument document = parser.ParseDocument("<body>" + Markdig.Markdown.ToHtml(Prose.Write(seed, 600)) + "</body>");
            foreach (IElement link in document.QuerySelectorAll("a[href^=http]"))
                link.ReplaceWith(document.CreateTextNode(link.TextContent));
            foreach (IElement item in document.QuerySelectorAll("li:nth-child(2n)"))
                item.ClassList.Add("even");
            var sum = new Checksum();
            sum.Add(document.ToHtml());
            Console.WriteLine($"{document.All.Length} {document.QuerySelectorAll("p > strong, li.even").Length} {document.QuerySelectorAll("a").Length} {sum}");
        }
    }
}
