namespace Freehold.Differential.Programs;

/// <summary>Sixty-four threads that allocate, publish and read each other's objects.</summary>
internal static partial class ManyThreads
{
    private sealed class Cell(int owner, int step, Cell? previous)
    {
        public readonly int Owner = owner;
        public readonly int Step = step;
        public readonly Cell? Previous = previous;
        public readonly string Text = owner + ":" + step;
    }

    public static void Run()
    {
        const int count = 64;
        var slots = new Cell?[count];
        long[] totals = new long[count];
        string[] problems = new string[count];
        var start = new ManualResetEventSlim();
        var threads = new Thread[count];
        for (int t = 0; t < count; t++)
        {
            int id = t;
            threads[t] = new Thread(
                () =>
                {
                    start.Wait();
                    var random = new Random(id);
                    for (int i = 0; i < 2_000; i++)
                    {
                        Volatile.Write(ref slots[id], new Cell(id, i, i % 50 == 0 ? null : slots[id]));
                        int other = random.Next(count);
                        if (Volatile.Read(ref slots[other]) is { } cell)
                        {
                            if (cell.Owner != other || cell.Text != cell.Owner + ":" + cell.Step)
                                problems[id] = "saw " + cell.Text;
                            if (cell.Previous is { } previous && previous.Step != cell.Step - 1)
                                problems[id] = "broken chain";
                        }
                        totals[id] += new int[i % 30].Length;
                    }
                },
                256 * 1024);
            threads[t].Start();
        }
        start.Set();
        foreach (Thread thread in threads)
            thread.Join();
        Console.WriteLine(totals.Sum() + " " + problems.Count(problem => problem is not null));
        Console.WriteLine(string.Join(' ', slots.Take(8).Select(cell => cell!.Text)));
        int short1 = 0;
        for (int i = 0; i < 200; i++)
        {
            var thread = new Thread(() => Interlocked.Add(ref short1, new string('x', 100).Length)) { IsBackground = i % 2 == 0, Name = "short " + i };
            thread.Start();
            thread.Join();
        }
        Console.WriteLine(short1);
    }
}
