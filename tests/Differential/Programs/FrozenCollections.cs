using System.Collections.Frozen;

namespace Freehold.Differential.Programs;

/// <summary>Frozen sets and dictionaries over several kinds of keys.</summary>
internal static partial class FrozenCollections
{
    public static void Run()
    {
        string[] words = [.. Enumerable.Range(0, 4_000).Select(i => "w" + (i * 37 % 4_001).ToString("x4"))];
        FrozenDictionary<string, int> byWord = words.Select((word, index) => KeyValuePair.Create(word, index)).ToFrozenDictionary();
        FrozenDictionary<int, string> byNumber = Enumerable.Range(-500, 3_000).ToFrozenDictionary(i => i * 3, i => "n" + i);
        FrozenSet<string> folded = words.Take(300).ToFrozenSet(StringComparer.OrdinalIgnoreCase);
        long total = 0;
        for (int round = 0; round < 5; round++)
        {
            foreach (string word in words)
            {
                total += byWord[word];
                total += folded.Contains(word.ToUpperInvariant()) ? 1 : 0;
            }
            for (int i = -2_000; i < 9_000; i++)
                total += byNumber.TryGetValue(i, out string? text) ? text.Length : 0;
        }
        Console.WriteLine($"{byWord.Count} {byNumber.Count} {folded.Count} {total}");
        Console.WriteLine(byWord.ContainsKey("absent"));
    }
}
