namespace Freehold.Differential.Programs;

/// <summary>The mutable collections of System.Collections.Generic against each other.</summary>
internal static partial class Collections
{
    public static void Run()
    {
        var random = new Random(1);
        var list = new List<int>();
        var dictionary = new Dictionary<int, string>();
        var set = new HashSet<int>();
        var sorted = new SortedDictionary<int, int>();
        var sortedSet = new SortedSet<int>();
        for (int i = 0; i < 40_000; i++)
        {
            int value = random.Next(20_000);
            list.Add(value);
            dictionary[value] = "v" + i;
            set.Add(value);
            sorted[value] = sorted.GetValueOrDefault(value) + 1;
            sortedSet.Add(value);
            if (i % 7 == 0)
            {
                dictionary.Remove(value);
                set.Remove(value);
                sortedSet.Remove(value);
            }
        }
        Console.WriteLine($"{list.Count} {dictionary.Count} {set.Count} {sorted.Count} {sortedSet.Count}");
        var sum = new Checksum();
        foreach (int key in dictionary.Keys.Order())
            sum.Add(dictionary[key]);
        foreach (KeyValuePair<int, int> pair in sorted)
            sum.Add((long)pair.Key * pair.Value);
        foreach (int value in sortedSet.GetViewBetween(5_000, 9_000).Reverse())
            sum.Add(value);
        Console.WriteLine(sum);

        var linked = new LinkedList<string>();
        for (int i = 0; i < 5_000; i++)
        {
            if (i % 3 == 0)
                linked.AddFirst("f" + i);
            else
                linked.AddLast("l" + i);
        }
        for (LinkedListNode<string>? node = linked.First; node is not null;)
        {
            LinkedListNode<string>? next = node.Next;
            if (node.Value.EndsWith('5'))
                linked.Remove(node);
            node = next;
        }
        var queue = new Queue<string>(linked);
        var stack = new Stack<string>(linked);
        var other = new Checksum();
        while (queue.Count > 0)
        {
            other.Add(queue.Dequeue());
            other.Add(stack.Pop());
        }
        Console.WriteLine($"{linked.Count} {other}");
        set.IntersectWith(sortedSet);
        set.SymmetricExceptWith(list.Take(3_000));
        Console.WriteLine($"{set.Count} {set.Order().Take(10).Sum()}");
    }
}
