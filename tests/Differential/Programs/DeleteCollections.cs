namespace Freehold.Differential.Programs;

/// <summary>Whole collections torn down with their contents, values replaced in place.</summary>
internal static partial class DeleteCollections
{
    public static void Run()
    {
        var sum = new Checksum();
        for (int round = 0; round < 12; round++)
        {
            var map = new Dictionary<int, List<string>>();
            for (int i = 0; i < 10_000; i++)
            {
                int key = i * 7 % 500;
                if (!map.TryGetValue(key, out List<string>? list))
                    map[key] = list = [];
                list.Add("r" + round + "i" + i);
                if (list.Count > 12)
                {
                    string first = list[0];
                    list.RemoveAt(0);
                    sum.Add(first);
                    Manual.Delete(first);
                }
            }
            foreach ((int key, List<string> list) in map)
            {
                sum.Add(key);
                foreach (string text in list)
                {
                    sum.Add(text);
                    Manual.Delete(text);
                }
                Manual.Delete(list);
            }
            Manual.Delete(map);
        }
        Console.WriteLine(sum);
        var values = new object[5_000];
        for (int i = 0; i < 100_000; i++)
        {
            object? old = values[i % values.Length];
            if (old is not null)
            {
                sum.Add((long)Convert.ToDouble(old));
                Manual.Delete(old);
            }
            values[i % values.Length] = (i % 4) switch { 0 => i, 1 => (double)i, 2 => (long)i, _ => (decimal)i };
        }
        Console.WriteLine(sum);
        var sorted = new SortedDictionary<string, Tuple<int, string>>(StringComparer.Ordinal);
        for (int i = 0; i < 20_000; i++)
        {
            string key = (i * 31 % 3_001).ToString("d4");
            if (sorted.Remove(key, out Tuple<int, string>? old))
            {
                sum.Add(old.Item2);
                Manual.Delete(old.Item2);
                Manual.Delete(old);
            }
            sorted[key] = Tuple.Create(i, "t" + i);
        }
        Console.WriteLine(sum + " " + sorted.Count);
    }
}
