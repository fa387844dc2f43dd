namespace Freehold.Differential.Programs;

/// <summary>Closures, delegates, events and enumerators that are deleted after their use.</summary>
internal static partial class DeleteDelegates
{
    private sealed class Source
    {
        public event Func<int, int>? Changed;

        public int Raise(int value) => Changed?.Invoke(value) ?? -1;
    }

    private sealed class Target(int factor)
    {
        public int Times(int value) => value * factor;
    }

    public static void Run()
    {
        long total = 0;
        for (int i = 0; i < 60_000; i++)
        {
            int captured = i;
            Func<int, int> add = x => x + captured;
            total += add(1);
            object target = add.Target!;
            Manual.Delete(add);
            Manual.Delete(target);
        }
        Console.WriteLine(total);
        var source = new Source();
        for (int i = 0; i < 20_000; i++)
        {
            var target = new Target(i);
            Func<int, int> handler = target.Times;
            source.Changed += handler;
            total += source.Raise(3);
            source.Changed -= handler;
            total += source.Raise(3);
            Manual.Delete(handler);
            Manual.Delete(target);
        }
        Console.WriteLine(total);
        for (int i = 0; i < 10_000; i++)
        {
            IEnumerable<int> sequence = Count(i % 20);
            IEnumerator<int> enumerator = sequence.GetEnumerator();
            while (enumerator.MoveNext())
                total += enumerator.Current;
            enumerator.Dispose();
            Manual.Delete(enumerator);
        }
        Console.WriteLine(total);
    }

    private static IEnumerable<int> Count(int to)
    {
        for (int i = 0; i < to; i++)
            yield return i;
    }
}
