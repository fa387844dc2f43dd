using System.Collections.Concurrent;

namespace Freehold.Differential.Programs;

/// <summary>Objects made by one thread and deleted by another, through a queue.</summary>
internal static partial class DeleteElsewhere
{
    private sealed class Message(int id, int from)
    {
        public readonly int Id = id;
        public readonly int From = from;
        public readonly int[] Payload = [id, from, id ^ from];
    }

    public static void Run()
    {
        using var queue = new BlockingCollection<Message>(256);
        long total = 0;
        int bad = 0;
        Thread[] consumers = [.. Enumerable.Range(0, 3).Select(_ => new Thread(() =>
        {
            long mine = 0;
            foreach (Message message in queue.GetConsumingEnumerable())
            {
                if (message.Payload[2] != (message.Id ^ message.From) || message.Payload.Length != 3)
                    Interlocked.Increment(ref bad);
                mine += message.Id;
                Manual.Delete(message.Payload);
                Manual.Delete(message);
            }
            Interlocked.Add(ref total, mine);
        }))];
        Thread[] producers = [.. Enumerable.Range(0, 3).Select(from => new Thread(() =>
        {
            for (int i = 0; i < 30_000; i++)
                queue.Add(new Message(i, from));
        }))];
        Array.ForEach(consumers, thread => thread.Start());
        Array.ForEach(producers, thread => thread.Start());
        Array.ForEach(producers, thread => thread.Join());
        queue.CompleteAdding();
        Array.ForEach(consumers, thread => thread.Join());
        Console.WriteLine(total + " " + bad);
        var ring = new Message?[512];
        long exchanged = 0;
        Thread[] swappers = [.. Enumerable.Range(0, 4).Select(id => new Thread(() =>
        {
            var random = new Random(id);
            long mine = 0;
            for (int i = 0; i < 40_000; i++)
            {
                Message? old = Interlocked.Exchange(ref ring[random.Next(ring.Length)], new Message(i, id));
                if (old is null)
                    continue;
                if (old.Payload[2] != (old.Id ^ old.From))
                    Interlocked.Increment(ref bad);
                mine += 1;
                Manual.Delete(old.Payload);
                Manual.Delete(old);
            }
            Interlocked.Add(ref exchanged, mine);
        }))];
        Array.ForEach(swappers, thread => thread.Start());
        Array.ForEach(swappers, thread => thread.Join());
        Console.WriteLine(exchanged + ring.Count(message => message is not null) + " " + bad);
    }
}
