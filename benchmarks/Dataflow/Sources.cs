namespace Freehold.Benchmarks.Dataflow;

/// <summary>The two streams: the same records whenever they are made.</summary>
internal sealed class Sources(int epochs, int documents, int authors)
{
    private static readonly string[] s_topics = ["heaps", "pointers", "barriers", "caches", "pages", "threads", "trees", "graphs", "streams", "joins"];

    public void Documents(Edge<Document> to)
    {
        var random = new Random64(2026);
        for (var epoch = 0; epoch < epochs; epoch++)
        {
            for (var i = 0; i < documents; i++)
            {
                var id = (epoch * documents) + i;
                var title = $"On {s_topics[random.Next(s_topics.Length)]} and {s_topics[random.Next(s_topics.Length)]}, part {id}";
                to.Send(epoch, new Document(id, title, 100 + random.Next(10_000), random.Next(authors)));
            }

            to.EndEpoch(epoch);
        }

        to.EndAll();
    }

    /// <summary>A tenth as many as documents.</summary>
    public void Authors(Edge<Author> to)
    {
        var random = new Random64(88172645463325252);
        for (var epoch = 0; epoch < epochs; epoch++)
        {
            for (var i = 0; i < documents / 10; i++)
            {
                var id = random.Next(authors);
                to.Send(epoch, new Author(id, $"author {id} in {epoch}"));
            }

            to.EndEpoch(epoch);
        }

        to.EndAll();
    }
}
