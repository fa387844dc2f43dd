using System.Diagnostics;

namespace Freehold.Benchmarks.Dataflow;

internal static class Program
{
    private const string Help = """
        Dataflow [short|full] [--query 1|2|3] [--epochs N] [--documents N] [--authors N] [--window N]
        Streams of documents (id, title, length, author) and authors, in epochs of so many documents. Query 1: the sum of the lengths by author; 2: the documents grouped by author; 3: documents joined with authors over a window of so many epochs.
        Operators run on threads of their own. They free the batches that they have used, and their state.
        """;

    public static int Main(string[] args)
    {
        var options = Arguments.Parse(
            "Dataflow", Help, args,
            new() { ["--query"] = 1, ["--epochs"] = 50, ["--documents"] = 200_000, ["--authors"] = 50_000, ["--window"] = 4 },
            new() { ["--epochs"] = 10, ["--documents"] = 30_000, ["--authors"] = 5_000 });
        if (options is null)
        {
            return 2;
        }

        if (options["--query"] is < 1 or > 3 || options["--window"] < 1)
        {
            Console.Error.WriteLine("Dataflow: --query is 1, 2 or 3, and --window at least 1.");
            return 2;
        }

        var (epochs, size) = ((int)options["--epochs"], (int)options["--documents"]);
        var sources = new Sources(epochs, size, (int)options["--authors"]);
        using var documents = new Edge<Document>();
        using var authors = new Edge<Author>();
        using var findings = new Edge<Finding>();
        var (checksum, found) = (0ul, 0L);
        Action[] operators = options["--query"] switch
        {
            1 => [() => sources.Documents(documents), () => Queries.Aggregate(documents, findings)],
            2 => [() => sources.Documents(documents), () => Queries.Group(documents, findings)],
            _ => [() => sources.Documents(documents), () => sources.Authors(authors), () => Queries.Join(documents, authors, findings, (int)options["--window"])],
        };
        var watch = new Watch();
        var start = Stopwatch.GetTimestamp();
        Workers.Run<Action>([.. operators, () => (checksum, found) = Queries.Collect(findings)], OrExit);
        var seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        watch.Stop();
        Report.Write("ns_per_operation", seconds * 1e9 / ((double)epochs * size));
        Report.Write("findings", found);
        Report.Write("checksum", checksum % 1_000_000_007);
        Report.WriteHeap();
        return 0;
    }

    /// <summary>The others would wait for one that fails.</summary>
    private static void OrExit(Action one)
    {
        try
        {
            one();
        }
        catch (Exception e)
        {
            Console.Error.WriteLine("Dataflow: " + e);
            Environment.Exit(1);
        }
    }
}
