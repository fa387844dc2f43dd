using System.Collections.Concurrent;
using System.Globalization;
using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>Structured log lines with templates, scopes and a background writer.</summary>
internal static partial class LogFormatting
{
    private enum Level
    {
        Debug,
        Info,
        Error,
    }

    private sealed record Event(Level Level, int Number, string Template, object?[] Arguments, Exception? Exception, string? Scope);

    private static readonly AsyncLocal<string?> s_scope = new();

    private static string Render(Event item)
    {
        var builder = new StringBuilder();
        builder.Append(CultureInfo.InvariantCulture, $"{item.Number:D6} {item.Level,-5} ");
        if (item.Scope is not null)
            builder.Append('[').Append(item.Scope).Append("] ");
        int argument = 0;
        for (int i = 0; i < item.Template.Length; i++)
        {
            if (item.Template[i] == '{')
            {
                int end = item.Template.IndexOf('}', i);
                builder.Append(item.Template, i + 1, end - i - 1).Append('=').Append(item.Arguments[argument] switch
                {
                    null => "null",
                    string text => '"' + text + '"',
                    IFormattable formattable => formattable.ToString(null, CultureInfo.InvariantCulture),
                    System.Collections.IEnumerable items => "[" + string.Join(',', items.Cast<object>()) + "]",
                    var other => other.ToString(),
                });
                argument++;
                i = end;
            }
            else
            {
                builder.Append(item.Template[i]);
            }
        }
        if (item.Exception is { } exception)
            builder.Append(" !").Append(exception.GetType().Name).Append(": ").Append(exception.Message);
        return builder.ToString();
    }

    public static void Run()
    {
        using var queue = new BlockingCollection<Event>(64);
        var lines = new List<string>();
        var writer = new Thread(() =>
        {
            foreach (Event item in queue.GetConsumingEnumerable())
                lines.Add(Render(item));
        });
        writer.Start();
        for (int i = 0; i < 10_000; i++)
        {
            s_scope.Value = i % 100 == 0 ? "request " + i : s_scope.Value;
            Exception? exception = null;
            if (i % 500 == 0)
            {
                try
                {
                    _ = int.Parse("x" + i);
                }
                catch (FormatException caught)
                {
                    exception = caught;
                }
            }
            queue.Add(new Event((Level)(i % 3), i, "user {Name} did {Count} of {Items} in {Time}", ["u" + i % 17, i, i % 2 == 0 ? new[] { i, i + 1 } : null, TimeSpan.FromMilliseconds(i)], exception, s_scope.Value));
        }
        queue.CompleteAdding();
        writer.Join();
        var sum = new Checksum();
        foreach (string line in lines)
            sum.Add(line);
        Console.WriteLine(lines.Count + " " + sum);
        Console.WriteLine(lines[1_500]);
        Console.WriteLine(lines[2_001]);
    }
}
