using System.Collections.Immutable;

namespace Freehold.Differential.Programs;

/// <summary>Immutable lists, maps and builders, with old versions kept.</summary>
internal static partial class ImmutableCollections
{
    public static void Run()
    {
        var versions = new List<ImmutableList<int>>();
        ImmutableList<int> list = ImmutableList<int>.Empty;
        ImmutableDictionary<string, int> map = ImmutableDictionary<string, int>.Empty;
        ImmutableSortedSet<int> set = ImmutableSortedSet<int>.Empty;
        for (int i = 0; i < 4_000; i++)
        {
            list = list.Insert(i / 2, i);
            map = map.SetItem("k" + i % 700, i);
            set = set.Add(i * 7919 % 10_007);
            if (i % 500 == 0)
                versions.Add(list);
            if (i % 5 == 4)
                list = list.RemoveAt(i % list.Count);
        }
        var sum = new Checksum();
        foreach (ImmutableList<int> version in versions)
        {
            sum.Add(version.Count);
            foreach (int value in version)
                sum.Add(value);
        }
        foreach (string key in map.Keys.Order(StringComparer.Ordinal))
            sum.Add(map[key]);
        Console.WriteLine($"{list.Count} {map.Count} {set.Count} {set.Min} {set.Max} {sum}");
        ImmutableArray<string> array = [.. map.Keys.Order(StringComparer.Ordinal)];
        Console.WriteLine(array.BinarySearch("k350", StringComparer.Ordinal));
        ImmutableStack<int> stack = ImmutableStack<int>.Empty;
        ImmutableQueue<int> queue = ImmutableQueue<int>.Empty;
        for (int i = 0; i < 3_000; i++)
        {
            stack = stack.Push(i);
            queue = queue.Enqueue(i);
            if (i % 3 == 0)
            {
                stack = stack.Pop();
                queue = queue.Dequeue();
            }
        }
        Console.WriteLine($"{stack.Count()} {stack.Peek()} {queue.Count()} {queue.Peek()}");
    }
}
