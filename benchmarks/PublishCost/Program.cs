// The program that is published to see what publishing costs: a little of what most programs use.
using System.Text;

var words = new Dictionary<string, int>(StringComparer.OrdinalIgnoreCase);
foreach (var word in string.Join(' ', args.DefaultIfEmpty("the quick brown fox jumps over the lazy dog")).Split(' '))
{
    words[word] = words.GetValueOrDefault(word) + 1;
}

var text = new StringBuilder();
foreach (var (word, count) in words.OrderByDescending(pair => pair.Value).ThenBy(pair => pair.Key, StringComparer.Ordinal))
{
    text.AppendLine($"{word} {count}");
}

Console.Write(text);
Console.WriteLine(await Task.Run(() => words.Values.Sum()));
Console.WriteLine(Heap.IsManual ? "heap freehold" : "heap workstation");
