using System.Collections.Concurrent;

namespace Freehold.Differential.Programs;

/// <summary>Parallel.For, ForEach, Invoke and their exceptions.</summary>
internal static partial class ParallelLoops
{
    public static void Run()
    {
        long total = 0;
        Parallel.For(0, 100_000, () => 0L, (i, _, local) => local + (i ^ (i >> 3)), local => Interlocked.Add(ref total, local));
        Console.WriteLine(total);
        string[] texts = new string[5_000];
        Parallel.For(0, texts.Length, new ParallelOptions { MaxDegreeOfParallelism = 4 }, i => texts[i] = string.Concat(Enumerable.Repeat(i.ToString("x"), i % 7)));
        var sum = new Checksum();
        foreach (string text in texts)
            sum.Add(text);
        Console.WriteLine(sum);
        var seen = new ConcurrentDictionary<int, byte>();
        ParallelLoopResult result = Parallel.ForEach(Partitioner.Create(0, 10_000, 100), (range, state) =>
        {
            for (int i = range.Item1; i < range.Item2; i++)
                seen.TryAdd(i, 0);
        });
        Console.WriteLine(result.IsCompleted + " " + seen.Count);
        int invoked = 0;
        Parallel.Invoke(() => Interlocked.Add(ref invoked, 1), () => Interlocked.Add(ref invoked, 10), () => Interlocked.Add(ref invoked, 100));
        Console.WriteLine(invoked);
        try
        {
            Parallel.For(0, 100, i =>
            {
                if (i == 50)
                    throw new ArgumentOutOfRangeException("fifty");
            });
        }
        catch (AggregateException exception)
        {
            Console.WriteLine(((ArgumentOutOfRangeException)exception.InnerExceptions.Single()).ParamName);
        }
        ParallelLoopResult broken = Parallel.For(0, 1_000_000, (i, state) =>
        {
            if (i == 5_000)
                state.Break();
        });
        Console.WriteLine(broken.IsCompleted + " " + broken.LowestBreakIteration);
        Parallel.ForEachAsync(Enumerable.Range(0, 300), async (i, _) =>
        {
            await Task.Yield();
            Interlocked.Add(ref total, i);
        }).Wait();
        Console.WriteLine(total);
    }
}
