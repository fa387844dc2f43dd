using System.Collections.Concurrent;

namespace Freehold.Differential.Programs;

/// <summary>Concurrent dictionary, bag, queue and stack under four writers.</summary>
internal static partial class ConcurrentCollections
{
    public static void Run()
    {
        var dictionary = new ConcurrentDictionary<int, string>();
        var counts = new ConcurrentDictionary<string, int>();
        var queue = new ConcurrentQueue<int>();
        var stack = new ConcurrentStack<int>();
        var bag = new ConcurrentBag<int>();
        var threads = new Thread[4];
        for (int t = 0; t < threads.Length; t++)
        {
            int id = t;
            threads[t] = new Thread(() =>
            {
                for (int i = 0; i < 8_000; i++)
                {
                    int key = id * 8_000 + i;
                    dictionary[key] = "n" + key;
                    counts.AddOrUpdate("c" + i % 50, 1, static (_, old) => old + 1);
                    queue.Enqueue(key);
                    stack.Push(key);
                    bag.Add(key);
                    if (i % 4 == 3)
                    {
                        dictionary.TryRemove(key, out _);
                        queue.TryDequeue(out _);
                        stack.TryPop(out _);
                        bag.TryTake(out _);
                    }
                }
            });
            threads[t].Start();
        }
        foreach (Thread thread in threads)
            thread.Join();
        var sum = new Checksum();
        foreach (int key in dictionary.Keys.Order())
            sum.Add(dictionary[key]);
        Console.WriteLine($"{dictionary.Count} {sum} {counts.Values.Sum()} {queue.Count} {stack.Count} {bag.Count}");

        using var blocking = new BlockingCollection<string>(16);
        var consumer = new Thread(() =>
        {
            long length = 0;
            foreach (string item in blocking.GetConsumingEnumerable())
                length += item.Length;
            Console.WriteLine("consumed " + length);
        });
        consumer.Start();
        for (int i = 0; i < 5_000; i++)
            blocking.Add(i.ToString());
        blocking.CompleteAdding();
        consumer.Join();
    }
}
