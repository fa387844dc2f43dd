using System.Text.Json;
using Freehold.Tool.Doctor;
using Spectre.Console;

namespace Freehold.Tool.Views;

/// <summary>What the doctor has found: a line for each check, and the cure where there is something to cure.</summary>
internal static class FindingsView
{
    public static void Write(IReadOnlyList<Finding> findings, IAnsiConsole console)
    {
        // Lines are cut nowhere: a cure is something to copy.
        console.Profile.Width = int.MaxValue / 2;
        foreach (Finding finding in findings)
        {
            string mark = finding.Severity switch { Severity.Good => "[green]ok[/]     ", Severity.Note => "note   ", Severity.Warning => "[yellow]warning[/]", _ => "[red]problem[/]" };
            console.MarkupLine($"{mark}  [bold]{Markup.Escape(PlainText.Of(finding.Subject))}[/]: {Markup.Escape(PlainText.Of(finding.Message))}");
            if (finding.Cure is not null)
            {
                console.MarkupLine($"         cure: {Markup.Escape(PlainText.Of(finding.Cure))}");
            }
        }

        int problems = findings.Count(finding => finding.Severity == Severity.Problem), warnings = findings.Count(finding => finding.Severity == Severity.Warning);
        console.MarkupLine("");
        console.MarkupLine(problems != 0 ? $"[red]{problems} problems[/], {warnings} warnings." : $"No problem, {warnings} warnings.");
    }

    public static void WriteJson(IReadOnlyList<Finding> findings, TextWriter output)
    {
        using var stream = new MemoryStream();
        using (var writer = new Utf8JsonWriter(stream))
        {
            writer.WriteStartArray();
            foreach (Finding finding in findings)
            {
                writer.WriteStartObject();
                writer.WriteString("severity", finding.Severity.ToString().ToLowerInvariant());
                writer.WriteString("subject", finding.Subject);
                writer.WriteString("message", finding.Message);
                if (finding.Cure is not null)
                {
                    writer.WriteString("cure", finding.Cure);
                }

                writer.WriteEndObject();
            }

            writer.WriteEndArray();
        }

        output.WriteLine(System.Text.Encoding.UTF8.GetString(stream.ToArray()));
    }
}
