using System.Threading.Channels;

namespace Freehold.Differential.Programs;

/// <summary>A pipeline of channels and tasks in which each stage deletes what it consumed.</summary>
internal static partial class DeletePipeline
{
    private sealed record Document(int Id, string Text);

    private sealed record Index(int Id, Dictionary<string, int> Counts);

    public static void Run() => RunAsync().GetAwaiter().GetResult();

    private static async Task RunAsync()
    {
        Channel<Document> documents = Channel.CreateBounded<Document>(16);
        Channel<Index> indexes = Channel.CreateBounded<Index>(16);
        Task reader = Task.Run(async () =>
        {
            for (int i = 0; i < 3_000; i++)
                await documents.Writer.WriteAsync(new Document(i, string.Join(' ', Enumerable.Range(0, 20 + i % 30).Select(n => "word" + (n * i + n) % 83))));
            documents.Writer.Complete();
        });
        Task[] workers = [.. Enumerable.Range(0, 3).Select(_ => Task.Run(async () =>
        {
            await foreach (Document document in documents.Reader.ReadAllAsync())
            {
                var counts = new Dictionary<string, int>();
                string[] words = document.Text.Split(' ');
                foreach (string word in words)
                {
                    if (counts.TryGetValue(word, out int count))
                    {
                        counts[word] = count + 1;
                        Manual.Delete(word);
                    }
                    else
                    {
                        counts.Add(word, 1);
                    }
                }
                Manual.Delete(words);
                await indexes.Writer.WriteAsync(new Index(document.Id, counts));
                Manual.Delete(document.Text);
                Manual.Delete(document);
            }
        }))];
        Task finish = Task.WhenAll(workers).ContinueWith(_ => indexes.Writer.Complete(), TaskScheduler.Default);
        long total = 0;
        var all = new SortedDictionary<string, int>(StringComparer.Ordinal);
        await foreach (Index index in indexes.Reader.ReadAllAsync())
        {
            foreach ((string word, int count) in index.Counts)
            {
                bool isNew = !all.TryGetValue(word, out int before);
                all[word] = before + count;
                total += (long)index.Id * count;
                if (!isNew)
                    Manual.Delete(word);
            }
            Manual.Delete(index.Counts);
            Manual.Delete(index);
        }
        await Task.WhenAll(reader, finish);
        var sum = new Checksum();
        foreach ((string word, int count) in all)
        {
            sum.Add(word);
            sum.Add(count);
        }
        Console.WriteLine(total + " " + all.Count + " " + sum);
    }
}
