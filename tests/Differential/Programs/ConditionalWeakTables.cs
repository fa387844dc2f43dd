using System.Runtime;
using System.Runtime.CompilerServices;

namespace Freehold.Differential.Programs;

/// <summary>Attached values, their lookup and removal, while the keys live.</summary>
internal static partial class ConditionalWeakTables
{
    private sealed class Extra(int value)
    {
        public int Value { get; set; } = value;
    }

    public static void Run()
    {
        var table = new ConditionalWeakTable<object, Extra>();
        object[] keys = [.. Enumerable.Range(0, 5_000).Select(i => i % 2 == 0 ? new object() : (object)("key" + i))];
        for (int i = 0; i < keys.Length; i++)
            table.Add(keys[i], new Extra(i));
        GC.Collect();
        long total = 0;
        for (int i = 0; i < keys.Length; i++)
        {
            if (table.TryGetValue(keys[i], out Extra? extra))
                total += extra.Value;
            if (i % 3 == 0)
                table.Remove(keys[i]);
            else
                table.AddOrUpdate(keys[i], new Extra(-i));
        }
        Console.WriteLine(total);
        Console.WriteLine(table.Count() + " " + table.Sum(pair => (long)pair.Value.Value));
        Parallel.ForEach(keys, key => table.GetValue(key, _ => new Extra(1_000)).Value++);
        Console.WriteLine(table.Sum(pair => (long)pair.Value.Value));
        Console.WriteLine(table.TryGetValue("absent" + keys.Length, out _) + " " + table.TryAdd(keys[1], new Extra(0)));
        table.Clear();
        Console.WriteLine(table.Any());
        var properties = new DependentHandle(keys[0], "dependent");
        Console.WriteLine(properties.Dependent + " " + ReferenceEquals(properties.Target, keys[0]));
        properties.Dispose();
        GC.KeepAlive(keys);
    }
}
