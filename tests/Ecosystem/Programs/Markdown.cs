using Markdig;

namespace Freehold.Differential.Programs;

/// <summary>Markdig: eighty texts to HTML with all extensions.</summary>
internal static class Markdown
{
    public static void Run()
    {
        MarkdownPipeline pipeline = new MarkdownPipelineBuilder().UseAdvancedExtensions().Build();
        for (int seed = 0; seed < 80; seed++)
        {
            var sum = new Checksum();
            string html = Markdig.Markdown.ToHtml(Prose.Write(seed, 1000), pipeline);
            sum.Add(html);
            Console.WriteLine($"{html.Length} {sum}");
        }
    }
}
