namespace Freehold.Differential.Programs;

/// <summary>Static constructors, their order, failures, laziness and races.</summary>
internal static partial class StaticInitialization
{
    private static class Ordered
    {
        public static readonly string First = Note("first");
        public static readonly string Second = Note("second after " + First);

        static Ordered() => Note("constructor");

        private static string Note(string text)
        {
            s_log.Add(text);
            return text;
        }
    }

    private static class Failing
    {
        public static readonly int Value = int.Parse("not a number" + Environment.NewLine);
    }

    private static class Contended
    {
        public static int Runs;
        public static readonly int[] Table = Make();

        private static int[] Make()
        {
            Interlocked.Increment(ref Runs);
            Thread.Sleep(5);
            return [.. Enumerable.Range(0, 1_000)];
        }
    }

    private static class Generic<T>
    {
        public static readonly string Name = typeof(T).Name;
        public static int Count;
    }

    private static readonly List<string> s_log = [];

    public static void Run()
    {
        s_log.Add("before");
        Console.WriteLine(Ordered.Second);
        Console.WriteLine(string.Join(';', s_log));
        for (int i = 0; i < 2; i++)
        {
            try
            {
                Console.WriteLine(Failing.Value);
            }
            catch (TypeInitializationException exception)
            {
                Console.WriteLine(exception.InnerException!.GetType().Name);
            }
        }
        long total = 0;
        Thread[] threads = [.. Enumerable.Range(0, 12).Select(_ => new Thread(() => Interlocked.Add(ref total, Contended.Table.Sum())))];
        foreach (Thread thread in threads)
            thread.Start();
        foreach (Thread thread in threads)
            thread.Join();
        Console.WriteLine(total);
        Generic<int>.Count++;
        Generic<string>.Count += 2;
        Generic<object>.Count += 3;
        Console.WriteLine(Generic<int>.Name + Generic<int>.Count + Generic<string>.Name + Generic<string>.Count + Generic<object>.Name + Generic<object>.Count);
        int made = 0;
        var lazy = new Lazy<List<int>>(() =>
        {
            Interlocked.Increment(ref made);
            return [1, 2, 3];
        });
        Parallel.For(0, 100, _ => Interlocked.Add(ref total, lazy.Value.Count));
        Console.WriteLine(made + " " + total);
        var bad = new Lazy<int>(() => throw new InvalidOperationException("lazy"));
        for (int i = 0; i < 2; i++)
        {
            try
            {
                _ = bad.Value;
            }
            catch (InvalidOperationException exception)
            {
                Console.WriteLine(exception.Message + " " + bad.IsValueCreated);
            }
        }
    }
}
