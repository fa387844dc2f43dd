namespace Freehold.Differential.Programs;

/// <summary>PLINQ over objects: ordering, grouping, aggregation and exceptions.</summary>
internal static partial class ParallelQueries
{
    // Elements and keys are references: over value types the query operators expand into minutes of compiling.
    private sealed class Item(int number)
    {
        public int Number { get; } = number;

        public string Group { get; } = "g" + number % 11;

        public string Text { get; } = (number * 7919L % 104_729).ToString();
    }

    public static void Run()
    {
        Item[] items = [.. Enumerable.Range(1, 40_000).Select(n => new Item(n))];
        Console.WriteLine(items.AsParallel().Where(item => item.Number % 3 == 0).Sum(item => (long)item.Number * item.Number));
        string[] ordered = [.. items.AsParallel().AsOrdered().WithDegreeOfParallelism(4).Select(item => item.Text).Where(text => text.Length == 4)];
        var sum = new Checksum();
        foreach (string text in ordered)
            sum.Add(text);
        Console.WriteLine($"{ordered.Length} {sum}");
        string[] groups = [.. items.AsParallel().GroupBy(item => item.Group).Select(group => group.Key + "=" + group.Count() + "/" + group.Max(item => item.Number))];
        Console.WriteLine(string.Join(' ', groups.Order(StringComparer.Ordinal)));
        Console.WriteLine(string.Concat(items.AsParallel().OrderBy(item => item.Text, StringComparer.Ordinal).Take(5).Select(item => item.Text + ",")));
        try
        {
            items.AsParallel().Select(item => item.Number == 777 ? throw new FormatException("777") : item.Text).ToArray();
        }
        catch (AggregateException exception)
        {
            Console.WriteLine(exception.Flatten().InnerExceptions[0].Message);
        }
    }
}
