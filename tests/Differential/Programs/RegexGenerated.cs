using System.Text;
using System.Text.RegularExpressions;

namespace Freehold.Differential.Programs;

/// <summary>The same engine by the source generator.</summary>
internal static partial class RegexGenerated
{
    [GeneratedRegex(@"(?<key>\w+)\s*=\s*(?:""(?<value>[^""]*)""|(?<value>\S+))", RegexOptions.CultureInvariant)]
    private static partial Regex Pair();

    [GeneratedRegex(@"^\s*(#.*)?$", RegexOptions.Multiline)]
    private static partial Regex Comment();

    [GeneratedRegex("(fatal|error|warning)", RegexOptions.IgnoreCase | RegexOptions.CultureInvariant)]
    private static partial Regex Severity();

    public static void Run()
    {
        var text = new StringBuilder();
        for (int i = 0; i < 6_000; i++)
            text.Append(i % 9 == 0 ? "# comment " + i : $"key{i} = {(i % 2 == 0 ? "\"quoted value " + i + "\"" : "bare" + i)}").Append(i % 100 == 0 ? " ERROR" : "").Append('\n');
        string input = text.ToString();
        var sum = new Checksum();
        int count = 0;
        foreach (Match match in Pair().Matches(input))
        {
            sum.Add(match.Groups["key"].Value);
            sum.Add(match.Groups["value"].Value);
            count++;
        }
        Console.WriteLine($"{count} {sum} {Comment().Count(input)}");
        string replaced = Severity().Replace(input, match => "[" + match.Value.ToLowerInvariant() + "]");
        Console.WriteLine(replaced.Length + " " + replaced.Split("[error]").Length);
        int spans = 0;
        foreach (ValueMatch match in Severity().EnumerateMatches(input))
            spans += match.Index % 1_000;
        Console.WriteLine(spans);
    }
}
