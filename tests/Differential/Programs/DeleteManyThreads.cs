namespace Freehold.Differential.Programs;

/// <summary>Sixty-four threads that allocate, check and delete, each its own and each other's objects.</summary>
internal static partial class DeleteManyThreads
{
    public static void Run()
    {
        const int count = 64;
        long[] totals = new long[count];
        var shared = new string?[1_024];
        int bad = 0;
        long swapped = 0;
        Thread[] threads = [.. Enumerable.Range(0, count).Select(id => new Thread(
            () =>
            {
                var random = new Random(id);
                var mine = new List<long[]>();
                for (int i = 0; i < 3_000; i++)
                {
                    long[] array = new long[random.Next(1, 60)];
                    array.AsSpan().Fill(id * 1_000_000L + i);
                    mine.Add(array);
                    if (mine.Count > 100)
                    {
                        int victim = random.Next(mine.Count);
                        long[] dead = mine[victim];
                        mine[victim] = mine[^1];
                        mine.RemoveAt(mine.Count - 1);
                        if (dead.AsSpan().ContainsAnyExcept(dead[0]) || dead[0] / 1_000_000 != id)
                            Interlocked.Increment(ref bad);
                        totals[id] += dead[0] % 1_000_000;
                        Manual.Delete(dead);
                    }
                    string text = id + "|" + i + "|" + id;
                    string? old = Interlocked.Exchange(ref shared[random.Next(shared.Length)], text);
                    if (old is not null)
                    {
                        string[] parts = old.Split('|');
                        if (parts.Length != 3 || parts[0] != parts[2])
                            Interlocked.Increment(ref bad);
                        Interlocked.Increment(ref swapped);
                        foreach (string part in parts)
                        {
                            // Split returns shared strings for single digits.
                            if (part.Length > 1)
                                Manual.Delete(part);
                        }
                        Manual.Delete(parts);
                        Manual.Delete(old);
                    }
                }
                foreach (long[] rest in mine)
                    totals[id] += rest[^1] % 1_000_000;
            },
            256 * 1024))];
        Array.ForEach(threads, thread => thread.Start());
        Array.ForEach(threads, thread => thread.Join());
        Console.WriteLine(totals.Sum() + " " + (swapped + shared.Count(text => text is not null)) + " " + bad);
    }
}
