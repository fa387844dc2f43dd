// 'dotnet publish' makes a program on Freehold's heap; 'dotnet run' runs the same code on the garbage collector.
Console.WriteLine(Heap.IsManual ? "Freehold's heap" : "a garbage collector");

var words = new List<string>();
for (int i = 0; i < 100_000; i++)
{
    words.Add($"word {i}");
}

long full = Heap.GetStatistics().LiveBytes;

// The list, its array, and the texts in it. 'Heap.Delete(words)' would leave the texts.
Heap.DeleteAll(words);

// What framework methods allocate inside has no name to delete it by: a scope deletes all that nothing outside leads to.
using (Heap.Scope())
{
    Console.WriteLine(string.Join(", ", Enumerable.Range(1, 5).Select(i => i * i)));
}

if (Heap.IsManual)
{
    long freed = full - Heap.GetStatistics().LiveBytes;
    Console.WriteLine($"{freed / 1_000_000} MB were given back");
}
