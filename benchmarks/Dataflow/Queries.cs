namespace Freehold.Benchmarks.Dataflow;

/// <summary>The operators with state. Each runs on one thread.</summary>
internal static class Queries
{
    private sealed class Total
    {
        public long Length;
        public int Documents;
    }

    /// <summary>The sum of the lengths by author, for each epoch.</summary>
    public static void Aggregate(Edge<Document> from, Edge<Finding> to)
    {
        var totals = new Dictionary<int, Total>();
        while (from.Receive() is { } batch)
        {
            for (var i = 0; i < batch.Count; i++)
            {
                var document = batch[i];
                if (!totals.TryGetValue(document.Author, out var total))
                {
                    totals.Add(document.Author, total = new Total());
                }

                total.Length += document.Length;
                total.Documents++;
                document.End();
            }

            if (batch.EndsEpoch)
            {
                foreach (var (author, total) in totals)
                {
                    to.Send(batch.Epoch, new Finding(author, (total.Length * 31) + total.Documents, "", ownsText: false));
                    if (Heap.IsManual)
                    {
                        Heap.Delete(total);
                    }
                }

                totals = Anew(totals);
                to.EndEpoch(batch.Epoch);
            }

            batch.End();
        }

        to.EndAll();
    }

    /// <summary>The documents of each author together, for each epoch: of each group its number and its longest document.</summary>
    public static void Group(Edge<Document> from, Edge<Finding> to)
    {
        var groups = new Dictionary<int, List<Document>>();
        while (from.Receive() is { } batch)
        {
            for (var i = 0; i < batch.Count; i++)
            {
                AddTo(groups, batch[i].Author, batch[i]);
            }

            if (batch.EndsEpoch)
            {
                foreach (var (author, documents) in groups)
                {
                    var longest = documents[0];
                    foreach (var document in documents)
                    {
                        longest = document.Length > longest.Length ? document : longest;
                    }

                    to.Send(batch.Epoch, new Finding(author, ((long)longest.Length * 31) + documents.Count, string.Concat(longest.Title, " is the longest"), ownsText: true));
                    EndAll(documents);
                }

                groups = Anew(groups);
                to.EndEpoch(batch.Epoch);
            }

            batch.End();
        }

        to.EndAll();
    }

    /// <summary>Each document with each record of its author, of the last so many epochs on both sides.</summary>
    public static void Join(Edge<Document> documents, Edge<Author> authors, Edge<Finding> to, int window)
    {
        var left = new Queue<Dictionary<int, List<Document>>>();
        var right = new Queue<Dictionary<int, List<Author>>>();
        for (var epoch = 0; ; epoch++)
        {
            // The authors of an epoch first, which meet the documents of the epochs before; then its documents, which meet all.
            var newAuthors = new Dictionary<int, List<Author>>();
            right.Enqueue(newAuthors);
            if (!Epoch(authors, author =>
            {
                foreach (var before in left)
                {
                    foreach (var document in Of(before, author.Id))
                    {
                        Meet(document, author);
                    }
                }

                AddTo(newAuthors, author.Id, author);
            }))
            {
                break;
            }

            var newDocuments = new Dictionary<int, List<Document>>();
            left.Enqueue(newDocuments);
            Epoch(documents, document =>
            {
                foreach (var known in right)
                {
                    foreach (var author in Of(known, document.Author))
                    {
                        Meet(document, author);
                    }
                }

                AddTo(newDocuments, document.Author, document);
            });
            to.EndEpoch(epoch);
            if (left.Count == window)
            {
                EndWindow(left.Dequeue());
                EndWindow(right.Dequeue());
            }

            void Meet(Document document, Author author) =>
                to.Send(epoch, new Finding(author.Id, document.Id + (long)document.Length, string.Concat(document.Title, ", by ", author.Name), ownsText: true));
        }

        to.EndAll();
    }

    /// <summary>The end of every query: what it has found, whatever the order.</summary>
    public static (ulong Checksum, long Findings) Collect(Edge<Finding> from)
    {
        var (sum, count) = (0ul, 0L);
        while (from.Receive() is { } batch)
        {
            for (var i = 0; i < batch.Count; i++)
            {
                var finding = batch[i];
                var hash = (ulong)finding.Value + ((ulong)finding.Author << 32) + ((ulong)batch.Epoch << 20);
                foreach (var c in finding.Text)
                {
                    hash = (hash * 31) + c;
                }

                sum += hash * 0x9e3779b97f4a7c15;
                count++;
                finding.End();
            }

            batch.End();
        }

        return (sum, count);
    }

    /// <summary>Receives the batches of an epoch. False: there are no more.</summary>
    private static bool Epoch<T>(Edge<T> from, Action<T> each)
        where T : class, IRecord
    {
        while (from.Receive() is { } batch)
        {
            for (var i = 0; i < batch.Count; i++)
            {
                each(batch[i]);
            }

            var ends = batch.EndsEpoch;
            batch.End();
            if (ends)
            {
                return true;
            }
        }

        return false;
    }

    private static void AddTo<T>(Dictionary<int, List<T>> groups, int key, T record)
    {
        if (!groups.TryGetValue(key, out var group))
        {
            groups.Add(key, group = []);
        }

        group.Add(record);
    }

    private static ReadOnlySpan<T> Of<T>(Dictionary<int, List<T>> groups, int key) => groups.TryGetValue(key, out var group) ? System.Runtime.InteropServices.CollectionsMarshal.AsSpan(group) : [];

    private static void EndWindow<T>(Dictionary<int, List<T>> groups)
        where T : class, IRecord
    {
        if (Heap.IsManual)
        {
            foreach (var group in groups.Values)
            {
                EndAll(group);
            }

            Heap.Delete(groups);
        }
    }

    private static void EndAll<T>(List<T> records)
        where T : class, IRecord
    {
        foreach (var record in records)
        {
            record.End();
        }

        if (Heap.IsManual)
        {
            Heap.Delete(records);
        }
    }

    /// <summary>A new state for the next epoch; the old one, whose values are gone, goes too.</summary>
    private static Dictionary<int, T> Anew<T>(Dictionary<int, T> state)
    {
        if (Heap.IsManual)
        {
            Heap.Delete(state);
        }

        return [];
    }
}
