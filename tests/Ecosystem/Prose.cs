using System.Text;

namespace Freehold.Differential;

/// <summary>Random Markdown, the same for the same seed.</summary>
internal static class Prose
{
    private static readonly string[] s_pieces =
    [
        "alpha", "beta", "*gamma*", "`delta`", "**epsilon**", "[zeta](http://x/y)", "eta", "theta\n\n", "\n\n# Iota\n\n", "\n* kappa\n* lambda\n", "\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n",
        "~~mu~~", "\n\n> nu\n\n", "\n\n```\nxi\n```\n\n", "&amp;", "<b>omicron</b>",
    ];

    public static string Write(int seed, int pieces)
    {
        var random = new Random(seed);
        var text = new StringBuilder();
        for (int i = 0; i < pieces; i++)
            text.Append(s_pieces[random.Next(s_pieces.Length)]).Append(' ');
        return text.ToString();
    }
}
