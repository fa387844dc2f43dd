using System.Text;

namespace Freehold.Differential.Programs;

/// <summary>StringBuilder, interpolation handlers, writers and readers of text.</summary>
internal static partial class StringBuilding
{
    public static void Run()
    {
        var builder = new StringBuilder();
        for (int i = 0; i < 20_000; i++)
            builder.Append(i).Append(',').AppendFormat("{0:x}", i * 31).Append(i % 10 == 0 ? "\n" : ";");
        builder.Replace("ff", "<ff>").Insert(1_000, "inserted").Remove(2_000, 1_500);
        var sum = new Checksum();
        foreach (ReadOnlyMemory<char> chunk in builder.GetChunks())
        {
            foreach (char character in chunk.Span)
                sum.Add((long)character);
        }
        Console.WriteLine($"{builder.Length} {sum}");
        using var reader = new StringReader(builder.ToString());
        int lines = 0;
        long length = 0;
        while (reader.ReadLine() is { } line)
        {
            lines++;
            length += line.Length;
        }
        Console.WriteLine($"{lines} {length}");
        using var writer = new StringWriter();
        for (int i = 0; i < 3_000; i++)
            writer.Write($"{i,6:D4}|{i / 7.0:F2}|{(i % 2 == 0 ? "even" : "odd"),-5}|");
        sum.Add(writer.ToString());
        Console.WriteLine(sum);
        var equal = new StringBuilder("abc").Append('d').Equals(new StringBuilder("abcd"));
        var reversed = new StringBuilder();
        for (int i = 0; i < 3_000; i++)
            reversed.Insert(0, (char)('a' + i % 26));
        Console.WriteLine($"{equal} {reversed.Length} {reversed.ToString(0, 30)}");
    }
}
