namespace Freehold.Differential.Programs;

/// <summary>Growing, shrinking and rehashing dictionaries with keys of several kinds.</summary>
internal static partial class DictionaryChurn
{
    public static void Run()
    {
        var random = new Random(2);
        var byString = new Dictionary<string, long>(StringComparer.OrdinalIgnoreCase);
        var byTuple = new Dictionary<(int, string), object>();
        var byReference = new Dictionary<object, int>(ReferenceEqualityComparer.Instance);
        var keys = new List<object>();
        for (int round = 0; round < 5; round++)
        {
            for (int i = 0; i < 10_000; i++)
            {
                string text = "Key" + random.Next(5_000).ToString(i % 2 == 0 ? "X" : "x");
                byString[text] = byString.GetValueOrDefault(text) + i;
                byTuple[(i % 100, text)] = i;
                object key = new string('k', i % 5 + 1);
                byReference.Add(key, i);
                keys.Add(key);
            }
            for (int i = 0; i < keys.Count; i += 2)
                byReference.Remove(keys[i]);
            byTuple.TrimExcess();
        }
        long total = 0;
        foreach (object key in keys)
            total += byReference.TryGetValue(key, out int value) ? value : 1;
        Console.WriteLine($"{byString.Count} {byString.Values.Sum()} {byTuple.Count} {byReference.Count} {total}");
        Dictionary<string, long>.AlternateLookup<ReadOnlySpan<char>> lookup = byString.GetAlternateLookup<ReadOnlySpan<char>>();
        int found = 0;
        for (int i = 0; i < 5_000; i++)
            found += lookup.ContainsKey(("xxKEY" + i.ToString("x")).AsSpan(2)) ? 1 : 0;
        Console.WriteLine(found);
    }
}
