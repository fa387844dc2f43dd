// A front in C# before a cache in C. Both churn: the cache evicts values whose sizes change from phase to phase, and the front replaces its answers.
//   NativeCache [thousands of requests]      results on standard output, figures of both heaps on standard error
using System.Globalization;

int requests = (args.Length > 0 ? int.Parse(args[0], CultureInfo.InvariantCulture) : 400) * 1000;
using var cache = new NativeCache(24 << 20);
var answers = new Answer?[20_000];
var buffer = new byte[4096];
ulong state = 1, checksum = 0;
long hits = 0;

for (int i = 0; i < requests; i++)
{
    // Each phase has larger values, so that what the phase before left behind fits nothing.
    int phase = (int)(4L * i / requests);
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    ulong key = (state >> 20) % 60_000 + (ulong)phase * 20_000;
    int size = cache.Get(key, buffer);
    if (size >= 0)
    {
        hits++;
    }
    else
    {
        size = Make(key, phase, buffer);
        cache.Put(key, buffer.AsSpan(0, size));
    }

    var answer = new Answer(key, buffer.AsSpan(0, size).ToArray());
    checksum = checksum * 31 + answer.Sum();
    ref Answer? place = ref answers[key % (ulong)answers.Length];
    Delete(place);
    place = answer;
}

Console.WriteLine($"{requests} requests, {hits} hits, {cache.Evictions} evictions, {cache.Count} values of {cache.Bytes} bytes, checksum {checksum:x16}");

// The defragmenter has time to see what the last phase has left.
if (Heap.GetStatistics().Handles.LiveObjects > 0) Thread.Sleep(500);
HeapStatistics figures = Heap.GetStatistics();
Console.Error.WriteLine($"managed heap: {figures.ResidentBytes >> 20} MB resident, {figures.DeletedObjects} objects deleted, {figures.MovedObjects} moved");
Console.Error.WriteLine($"heap of handles: {figures.Handles.LiveBytes >> 20} of {figures.Handles.ResidentBytes >> 20} MB live, {figures.Handles.MovedObjects} objects moved in "
    + $"{figures.Handles.Stops} stops, the longest {figures.Handles.LongestStop.TotalMilliseconds:f2} ms");

static int Make(ulong key, int phase, Span<byte> to)
{
    int size = 40 + phase * 350 + (int)(key * 2654435761 % 200);
    for (int i = 0; i < size; i++) to[i] = (byte)(key * 31 + (ulong)i);
    return size;
}

static void Delete(Answer? answer)
{
    if (answer is null) return;
    Heap.Delete(answer.Body);
    Heap.Delete(answer);
}

internal sealed class Answer(ulong key, byte[] body)
{
    public byte[] Body => body;

    public ulong Sum()
    {
        ulong sum = key;
        foreach (byte value in body) sum = sum * 131 + value;
        return sum;
    }
}
