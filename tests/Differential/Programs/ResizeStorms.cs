using System.Collections.Concurrent;
using System.Collections.Immutable;

namespace Freehold.Differential.Programs;

/// <summary>Concurrent collections that grow and shrink from many threads at once, whose old tables, nodes and values are deleted beside the readers.</summary>
internal static partial class ResizeStorms
{
    private const int Threads = 8;

    public static void Run()
    {
        Dictionaries();
        Structs();
        Queues();
        Blocking();
        Immutable();
        Lazies();
    }

    private static void Dictionaries()
    {
        for (int round = 0; round < 6; round++)
        {
            var dictionary = new ConcurrentDictionary<string, int[]>(round % 2 == 0 ? 1 : 64, 3);
            long found = 0;
            Parallel.For(0, Threads, new ParallelOptions { MaxDegreeOfParallelism = Threads }, thread =>
            {
                long mine = 0;
                for (int i = 0; i < 2_500; i++)
                {
                    string key = "key " + (i % 1_800);
                    int[] value = dictionary.GetOrAdd(key, static name => [name.Length]);
                    mine += value[0];
                    dictionary.AddOrUpdate("own " + thread + "." + (i % 300), static (_, number) => [number], static (_, old, number) => [old[0] + number], i);
                    if (i % 500 == 499)
                        mine += dictionary.Count > 100 ? 1 : 0;
                }
                Interlocked.Add(ref found, mine);
            });
            long own = dictionary.Where(pair => pair.Key.StartsWith("own")).Sum(pair => (long)pair.Value[0]);
            Console.WriteLine($"{found} {own} {dictionary.Count} {dictionary.Keys.Distinct().Count()}");
            int removed = 0;
            Parallel.For(0, Threads, thread =>
            {
                for (int i = 0; i < 1_800; i++)
                {
                    if (dictionary.TryRemove("key " + i, out int[]? value))
                    {
                        Interlocked.Increment(ref removed);
                        Manual.Delete(value);
                    }
                }
            });
            Console.WriteLine(removed + " " + dictionary.Count);
            foreach (KeyValuePair<string, int[]> pair in dictionary)
                Manual.Delete(pair.Value);
            dictionary.Clear();
            Manual.Delete(dictionary);
        }
    }

    private record struct Key(int Number, string Name, object? Tag);

    private static void Structs()
    {
        var dictionary = new ConcurrentDictionary<Key, (string, long)>();
        object tag = new();
        Parallel.For(0, 20_000, i =>
        {
            var key = new Key(i % 3_000, "name " + (i % 3_000), i % 2 == 0 ? tag : null);
            dictionary.AddOrUpdate(key, _ => ("added", i), (_, old) => (old.Item1 + "+", old.Item2 + i));
        });
        Console.WriteLine($"{dictionary.Count} {dictionary.Values.Sum(value => value.Item2)} {dictionary.Values.Sum(value => value.Item1.Length)} {dictionary.ContainsKey(new Key(4, "name 4", tag))} {dictionary.ContainsKey(new Key(4, "name 4", null))}");
    }

    private static void Queues()
    {
        var queue = new ConcurrentQueue<object>();
        var stack = new ConcurrentStack<object>();
        var bag = new ConcurrentBag<object>();
        long sum = 0;
        Parallel.For(0, Threads, thread =>
        {
            var batch = new object[20];
            for (int i = 0; i < 4_000; i++)
            {
                object item = i;
                (i % 3 == 0 ? queue : i % 3 == 1 ? (IProducerConsumerCollection<object>)stack : bag).TryAdd(item);
                if (i % 50 == 49)
                {
                    int count = stack.TryPopRange(batch);
                    for (int n = 0; n < count; n++)
                    {
                        Interlocked.Add(ref sum, (int)batch[n]);
                        Manual.Delete(batch[n]);
                    }
                }
                if (i % 4 == 0 && (queue.TryDequeue(out object? taken) || bag.TryTake(out taken)))
                {
                    Interlocked.Add(ref sum, (int)taken);
                    Manual.Delete(taken);
                }
            }
        });
        foreach (object item in queue.Concat(stack).Concat(bag))
            sum += (int)item;
        Console.WriteLine(sum);
    }

    private static void Blocking()
    {
        using var collection = new BlockingCollection<int[]>(16);
        long sum = 0;
        Task[] consumers = [.. Enumerable.Range(0, 3).Select(_ => Task.Factory.StartNew(() =>
        {
            foreach (int[] item in collection.GetConsumingEnumerable())
            {
                Interlocked.Add(ref sum, item[0]);
                Manual.Delete(item);
            }
        }, TaskCreationOptions.LongRunning))];
        Task[] producers = [.. Enumerable.Range(0, 3).Select(thread => Task.Factory.StartNew(() =>
        {
            for (int i = 0; i < 2_000; i++)
                collection.Add([i, thread]);
        }, TaskCreationOptions.LongRunning))];
        Task.WaitAll(producers);
        collection.CompleteAdding();
        Task.WaitAll(consumers);
        Console.WriteLine(sum + " " + collection.IsCompleted);
    }

    private static void Immutable()
    {
        ImmutableDictionary<int, string> dictionary = ImmutableDictionary<int, string>.Empty;
        ImmutableList<int> list = [];
        Parallel.For(0, 3_000, i =>
        {
            ImmutableInterlocked.AddOrUpdate(ref dictionary, i % 500, "first", static (_, old) => old.Length < 20 ? old + "x" : old);
            ImmutableInterlocked.Update(ref list, static (old, number) => old.Add(number), i);
        });
        Console.WriteLine(dictionary.Count + " " + dictionary.Values.Sum(value => value.Length) + " " + list.Count + " " + list.Sum());
    }

    private static void Lazies()
    {
        int made = 0;
        Lazy<string>[] lazies = [.. Enumerable.Range(0, 500).Select(i => new Lazy<string>(() =>
        {
            Interlocked.Increment(ref made);
            return "lazy " + i;
        }, LazyThreadSafetyMode.ExecutionAndPublication))];
        long length = 0;
        Parallel.For(0, 4_000, i => Interlocked.Add(ref length, lazies[i * 31 % lazies.Length].Value.Length));
        Console.WriteLine(made + " " + length);
    }
}
