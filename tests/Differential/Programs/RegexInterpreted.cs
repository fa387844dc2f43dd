using System.Text;
using System.Text.RegularExpressions;

namespace Freehold.Differential.Programs;

/// <summary>Regular expressions by the interpreter: matches, groups, replacement, backtracking.</summary>
internal static partial class RegexInterpreted
{
    public static void Run()
    {
        var random = new Random(6);
        var text = new StringBuilder();
        for (int i = 0; i < 3_000; i++)
            text.Append($"user{random.Next(999)}@host{random.Next(99)}.example.org 20{random.Next(10, 30)}-0{random.Next(1, 10)}-1{random.Next(0, 10)} ip={random.Next(256)}.{random.Next(256)}.0.1;");
        string input = text.ToString();
        var mail = new Regex(@"(?<name>[a-z]+\d+)@(?<host>[\w.]+)", RegexOptions.CultureInvariant);
        var sum = new Checksum();
        foreach (Match match in mail.Matches(input))
            sum.Add(match.Groups["host"].Value + match.Groups["name"].Value);
        Console.WriteLine(sum);
        Console.WriteLine(Regex.Replace(input, @"(\d{4})-(\d\d)-(\d\d)", match => match.Groups[3].Value + "/" + match.Groups[2].Value).Length);
        Console.WriteLine(Regex.Split(input, @"\s*;\s*").Length + " " + Regex.Count(input, @"\bip=(?:\d{1,3}\.){3}\d+\b"));
        Console.WriteLine(Regex.IsMatch(new string('a', 24) + "b", "^(a|aa)+$") + " " + Regex.Match("aXbXc", "(?<=X).(?=X)").Value + " " + Regex.Match("abcabc", @"(abc)\1").Success);
        Console.WriteLine(Regex.Match("((a)(b(c)))", @"^(?:[^()]|(?<open>\()|(?<-open>\)))*(?(open)(?!))$").Success);
        Console.WriteLine(new Regex("(a+)+c", RegexOptions.NonBacktracking).IsMatch(new string('a', 5_000)));
        try
        {
            _ = new Regex("(unclosed");
        }
        catch (RegexParseException exception)
        {
            Console.WriteLine(exception.Error + " " + exception.Offset);
        }
    }
}
